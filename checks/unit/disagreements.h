/* SPDX-License-Identifier: Apache-2.0
 * Blocks on which implementations disagree, and what each stores. Included by test_recipes.c:
 * {id, source format, global amax, first elements, all others,
 *  "recipe recipe: scale/codes; recipe: scale/codes"}.
 * Bits are hexadecimal, in the source format. A block has 32 elements, or 16 where the recipe says so. */
/* Zeros. */
{"D1",
 "f32",
 "0",
 "00000000 80000000",
 "0",
 "mxfp8-ao-rceil mxfp8-te mxfp8-fi mxfp8-triton-up mxfp8-ao-floor mxfp8-gfloat-f32 mxfp8-microx-py: 00/00 "
 "80; "
 "mxfp8-microx-cu: 00/00 00; "
 "mxfp8-dg: 69/00 80; "
 "mxfp8-vllm-ue8m0: 5E/00 80; "
 "mxfp8-aiter mxfp8-vllm-ue8m0-amaxfloor: 55/00 80; "
 "mxfp4-aiter: 5C/0 8"},
    /* 480: floor clips, round-up does not. */
    {"D2",
     "f32",
     "0",
     "43F00000 43E80001 3F800000",
     "0",
     "mxfp8-floor mxfp8-ao-floor mxfp8-ao-even mxfp8-triton-dn448 mxfp8-microx-cu mxfp8-microx-py "
     "mxfp8-gfloat-f32 mxfp8-gfloat-f64: 7F/7E 7E 38; "
     "mxfp8-te mxfp8-ao-rceil mxfp8-triton-up mxfp8-ao-ceil mxfp8-aiter mxfp8: 80/77 77 30"},
    /* 448: only ceil moves up. */
    {"D3",
     "f32",
     "0",
     "43E00000 3F800000",
     "0",
     "mxfp8-ao-ceil mxfp8-ceil: 80/76 30; "
     "mxfp8-te mxfp8-ao-floor mxfp8-ao-even mxfp8-triton-up mxfp8-triton-dn448 mxfp8-ao-rceil-old mxfp8-dg "
     "mxfp8-vllm-ue8m0 mxfp8-fi: 7F/7E 38"},
    /* 300: flooring amax/448 clips. */
    {"D4",
     "f32",
     "0",
     "43960000 3F800000",
     "0",
     "mxfp8-triton-dn448: 7E/7E 40; "
     "mxfp8-ao-ceil: 80/71 30; "
     "mxfp8-te mxfp8-floor mxfp8-ao-even mxfp8-triton-up mxfp8-triton-dn mxfp8-microx-cu: 7F/79 38"},
    /* 496 and the value just below. */
    {"D5",
     "f32",
     "0",
     "43F80000",
     "0",
     "mxfp8-ao-even mxfp8-te: 80/78; "
     "mxfp8-floor: 7F/7E"},
    {"D5",
     "f32",
     "0",
     "43F7FFFF",
     "0",
     "mxfp8-ao-even mxfp8-floor: 7F/7E; "
     "mxfp8-te: 80/77"},
    /* Just below 512: log2 in fp32 reads 9. */
    {"D6",
     "f32",
     "0",
     "43FFFFFF 3F800000",
     "0",
     "mxfp8-floor mxfp8-gfloat-f64 mxfp8-microx-cu: 7F/7E 38; "
     "mxfp8-gfloat-f32 mxfp8-microx-py mxfp8-ao-floor-old-triton: 80/78 30"},
    {"D6",
     "bf16",
     "0",
     "437E",
     "0",
     "mxfp8-microx-py: 7F/78; "
     "mxfp8-microx-cu: 7E/7E"},
    {"D6", "bf16", "0", "437F", "0", "mxfp8-microx-py: 7F/78"},
    {"D6", "bf16", "0", "437D", "0", "mxfp8-microx-py: 7E/7E"},
    /* 3.5 and 458752, one ulp above: ceil(log2) misses the bump. */
    {"D7",
     "f32",
     "0",
     "40600001 3F800000",
     "0",
     "mxfp8-te mxfp8-triton-up: 79/76 68; "
     "mxfp8-ao-rceil-old: 78/7E 70"},
    {"D8",
     "f32",
     "0",
     "48E00001",
     "0",
     "mxfp8-te: 8A/76; "
     "mxfp8-ao-rceil-old: 89/7E"},
    {"D9",
     "f32",
     "0",
     "047FFFFF",
     "0",
     "mxfp8-ao-floor: 00/7E; "
     "mxfp8-ao-floor-cuda: 01/78"},
    /* NaN among ones, of either sign. */
    {"D10",
     "f32",
     "0",
     "7FC00000 3F800000",
     "3F800000",
     "mxfp8-ao-rceil mxfp8-microx-cu mxfp8-microx-py mxfp8-cutlass: FF/7F 7F; "
     "mxfp8-te mxfp8-triton-up: 77/7F 78; "
     "mxfp8-fi: 77/7E 78; "
     "mxfp8-vllm-ue8m0: 77/FE 78; "
     "mxfp8-dg: FE/7F 00; "
     "mxfp8-ao-floor-old: FF/7F 00; "
     "mxfp8-gfloat-f32: FF/FF FF"},
    {"D10",
     "f32",
     "0",
     "FFC00000 3F800000",
     "3F800000",
     "mxfp8-ao-rceil: FF/7F 7F; "
     "mxfp8-te mxfp8-triton-up: 77/7F 78; "
     "mxfp8-fi: 77/7E 78; "
     "mxfp8-vllm-ue8m0: 77/FE 78; "
     "mxfp8-dg: FE/7F 00; "
     "mxfp8-ao-floor-old: FF/7F 00; "
     "mxfp8-gfloat-f32: FF/FF FF"},
    /* Infinities. */
    {"D11",
     "f32",
     "0",
     "7F800000 3F800000 FF800000",
     "3F800000",
     "mxfp8-ao-rceil mxfp8-ao-floor: FF/7F 7F 7F; "
     "mxfp8-te mxfp8-ao-rceil-old mxfp8-gfloat-f32 mxfp8-cutlass: FE/7E 00 FE; "
     "mxfp8-ao-floor-old: F7/7E 00 FE; "
     "mxfp8-fi mxfp8-fi-cute: FE/7E 00 7E; "
     "mxfp8-triton-up mxfp8-aiter: FF/7F 00 7F; "
     "mxfp8-vllm-ue8m0: FF/FE 00 FE; "
     "mxfp8-dg: FE/7F 00"},
    /* DeepGEMM leaves +Inf to torch: NaN before 2.13 (7F), the maximum after. */
    /* The largest finite values. */
    {"D12",
     "f32",
     "0",
     "7F7FFFFF 3F800000 FF7FFFFF",
     "0",
     "mxfp8-floor mxfp8-ao-floor: F6/7E 00 FE; "
     "mxfp8-te mxfp8-gfloat-f32: F7/78 00 F8; "
     "mxfp8-ao-even: FF/7F 7F 7F"},
    {"D13",
     "bf16",
     "0",
     "7F78",
     "0",
     "mxfp8-ao-even: FF/7F 7F; "
     "mxfp8-te: F7/78; "
     "mxfp8-floor: F6/7E"},
    /* Subnormal amax. */
    {"D14",
     "f32",
     "0",
     "00800000 00400000 00000001 80000001",
     "0",
     "mxfp8-ao-rceil mxfp8-te mxfp8-microx-py: 00/40 38 00 80; "
     "mxfp8-microx-cu: 00/40 38 00 00; "
     "mxfp8-ao-floor-old: 00/38 30 00 80; "
     "mxfp8-ao-rceil-old mxfp8-fi mxfp8-fi-cute: 00/00 00 00 80; "
     "mxfp8-triton-up: 01/38 30 00 80; "
     "mxfp8-dg: 69/00 00 00 80; "
     "mxfp8-vllm-ue8m0: 5E/00 00 00 80; "
     "mxfp8-aiter: 55/00 00 00 80"},
    {"D15",
     "bf16",
     "0",
     "0001 007F 8001",
     "0",
     "mxfp8-ao-rceil mxfp8-te: 00/08 40 88; "
     "mxfp8-ao-floor-old: 00/04 38 84; "
     "mxfp8-triton-up: 01/04 38 84; "
     "mxfp8-fi mxfp8-fi-cute: 00/00 00 80"},
    /* amax = 448 * 2^-127, and the next two. */
    {"D16",
     "f32",
     "0",
     "04600000 00800000 80010000",
     "0",
     "mxfp8-te mxfp8-ao-rceil mxfp8-floor mxfp8-ao-even: 00/7E 40 88; "
     "mxfp8-ao-ceil mxfp8-triton-up: 01/76 38 84; "
     "mxfp8-ao-floor-old: 00/76 38 84; "
     "mxfp8-fi mxfp8-fi-cute mxfp8-triton-dn448 mxfp8-ao-rceil-old: 00/00 00 80"},
    {"D17",
     "f32",
     "0",
     "04600001 00800000",
     "0",
     "mxfp8-ao-rceil mxfp8-te: 00/7E 40; "
     "mxfp8-triton-up: 01/76 38; "
     "mxfp8-fi: 00/00 00"},
    {"D18",
     "f32",
     "0",
     "04600002 00800000",
     "0",
     "mxfp8-ao-rceil mxfp8-te mxfp8-fi-cute mxfp8-triton-up: 01/76 38; "
     "mxfp8-floor mxfp8-ao-even: 00/7E 40; "
     "mxfp8-fi mxfp8-triton-dn448: 00/00 00"},
    {"D19",
     "f32",
     "0",
     "04A80000 00800000 00400000",
     "0",
     "mxfp8-te mxfp8-floor mxfp8-ao-even mxfp8-triton-up mxfp8-fi-cute: 01/7A 38 30; "
     "mxfp8-ao-ceil: 02/72 30 28; "
     "mxfp8-fi mxfp8-triton-dn448: 00/00 00 00"},
    {"D20",
     "f32",
     "0",
     "04E00000 00800000 00400000",
     "0",
     "mxfp8-te: 01/7E 38 30; "
     "mxfp8-fi: 01/7E 38 00"},
    {"D21",
     "f32",
     "0",
     "3727C5AC",
     "0",
     "mxfp8-te: 66/7A; "
     "mxfp8-dg: 69/62"},
    {"D21",
     "f32",
     "0",
     "358637BD",
     "0",
     "mxfp8-te: 63/78; "
     "mxfp8-dg: 69/48"},
    /* amax 256 makes the scale 1. */
    {"D22",
     "f32",
     "0",
     "43800000 3F880000 3A800000",
     "0",
     "mxfp8-floor mxfp8-microx-py-even: 7F/78 38 00; "
     "mxfp8-microx-py mxfp8-microx-cu: 7F/78 39 01"},
    /* MXFP4 ties, all at amax 6. */
    {"D24",
     "f32",
     "0",
     "40C00000 3E800000 3F400000 3FA00000 3FE00000 40200000 40600000 40A00000 BE800000 BF400000 BFE00000 "
     "80000000",
     "0",
     "mxfp4 mxfp4-te mxfp4-ao-rceil mxfp4-fi mxfp4-triton-up: 7F/7 0 2 2 4 4 6 6 8 A C 8; "
     "mxfp4-ggml mxfp4-dg: 7F/7 0 1 2 3 4 5 6 0 9 B 0; "
     "mxfp4-triton-up-old mxfp4-quark: 7F/7 1 2 3 4 5 6 7 9 A C 8"},
    {"D25",
     "f32",
     "0",
     "40C00000 3E800001 3E800002 3E800003 3E800004",
     "0",
     "mxfp4: 7F/7 1 1 1 1; "
     "mxfp4-triton-up: 7F/7 0 0 0 1"},
    {"D26", "f32", "0", "00800000", "0", "mxfp4-ggml: FF/0"},
    {"D26", "f32", "0", "00000001", "0", "mxfp4-ggml: E8/0"},
    {"D26", "f32", "0", "7F800000", "0", "mxfp4-ggml: 00/"},
    {"D26",
     "f32",
     "0",
     "7F7FFFFF",
     "0",
     "mxfp4-ggml: FD/5; "
     "mxfp4-floor: FC/7"},
    {"D26",
     "f32",
     "0",
     "42FFFFFF",
     "0",
     "mxfp4-ggml: 84/6; "
     "mxfp4-floor: 83/7"},
    {"D28",
     "f32",
     "0",
     "3FE00000",
     "0",
     "mxfp4-mslk-ceil mxfp4-fbgemm-old mxfp4-ao-even mxfp4-quark mxfp4-aiter-triton mxfp4-aiter-even mxfp4: "
     "7E/6; "
     "mxfp4-mslk-even mxfp4-mslk-floor mxfp4-floor: 7D/7"},
    {"D30",
     "f32",
     "0",
     "3FC00000",
     "0",
     "mxfp4-ggml-cuda: 7E/5; "
     "mxfp4-ggml mxfp4-floor mxfp4: 7D/7"},

    /* The UE8M0 path of an NVFP4 kernel cuts the exponent off: amax 5 clips. Global 2688 makes S = 1. */
    {"D29",
     "f32",
     "45280000",
     "40A00000",
     "0",
     "mxfp4-vllm mxfp4-quark-down mxfp4-triton-dn-old: 7E/7; "
     "mxfp4-quark mxfp4-quark-up mxfp4-triton-up-old: 7F/7; "
     "mxfp4-floor mxfp4 mxfp4-triton-up mxfp4-triton-dn: 7F/6"},

    /* NVFP4: the order of divisions. */
    {"D32",
     "bf16",
     "3C02",
     "3743",
     "0",
     "nvfp4-te nvfp4: 33/; "
     "nvfp4-ao nvfp4-fi nvfp4-mslk: 32/"},
    {"D33",
     "bf16",
     "3C0C",
     "3711",
     "0",
     "nvfp4-ao: 2E/; "
     "nvfp4-te nvfp4-fi nvfp4-mslk: 2F/"},
    {"D34",
     "bf16",
     "3F80",
     "3CD4 3C00",
     "0",
     "nvfp4-te nvfp4-fi: 54/7 3; "
     "nvfp4-ao nvfp4-mslk: 54/7 4"},
    {"D35",
     "bf16",
     "3F82",
     "3C82 3B02",
     "0",
     "nvfp4-ao: 4E/7 1; "
     "nvfp4-te nvfp4-fi nvfp4-mslk: 4E/7 2"},
    {"D36",
     "bf16",
     "3F80",
     "3D86 3CA0 3D20",
     "0",
     "nvfp4-te: 5F/7 4 6; "
     "nvfp4-te-fast: 5F/7 3 5"},
    {"D37",
     "f32",
     "3F800000",
     "0",
     "0",
     "nvfp4-te nvfp4-fi nvfp4-vllm: 00/0; "
     "nvfp4-mslk: 01/0; "
     "nvfp4-ao: 08/0"},
    {"D38",
     "f32",
     "3F800000",
     "35800000 B5800000 35000000 00000000 80000000",
     "0",
     "nvfp4-te: 00/7 F 7 0 8; "
     "nvfp4-fi: 00/7 F 7 7 7; "
     "nvfp4-vllm: 00/0 8 0 0 8; "
     "nvfp4-ao: 08/0 8 0 0 8; "
     "nvfp4-mslk: 01/3 B 1 0 8"},

    /* 4/6 at S = 1 (global amax 256 * 6), worked by hand: map-6 has scale 1, map-4 1.5. 4.5 is 3 * 1.5, 4 is
     * 4 * 1; a tie goes to map-6. */
    {"46",
     "f32",
     "44C00000",
     "40C00000 40900000",
     "0",
     "nvfp4-te-46 nvfp4-te-46-mse: 3C/6 5 0; "
     "nvfp4-single nvfp4-ao-single: 38/7 6 0"},
    {"46", "f32", "44C00000", "40C00000", "0", "nvfp4-te-46 nvfp4-te-46-mse: 38/7 0"},
    {"46", "f32", "44C00000", "40C00000 40800000", "0", "nvfp4-te-46 nvfp4-te-46-mse: 38/7 6"},

    /* ggml's NVFP4 at scale 1: ties to the lower magnitude, -0 lost. */
    {"ggml", "f32",
     "0",    "40C00000 3E800000 BE800000 BFA00000 80000000 3E800001",
     "0",    "nvfp4-ggml: 38/7 0 0 A 0 1"},
