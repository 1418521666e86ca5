#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Record matrix products of closed libraries and compilers on an NVIDIA GPU (an H200 was meant).

    python3 tools/record_h200.py OUT_DIR

Writes OUT_DIR/*.safetensors in mxcheck's vector-file form: each call is a case with the first rows of its
operands and the outputs that belong to them, so that its arithmetic can be searched for offline. Needs
torch, and triton for the last file. Operands are random with a fixed seed. One failing call loses nothing
else: failures are listed in OUT_DIR/log.txt and on stderr.
"""
import datetime
import json
import os
import struct
import sys
import time

import torch

DEVICE = "cuda"
ROWS = 16  # rows of each operand, and of outputs in both directions, that are kept
TYPES = {torch.float8_e4m3fn: ("e4m3", "F8_E4M3"), torch.float8_e5m2: ("e5m2", "F8_E5M2"),
         torch.bfloat16: ("bf16", "BF16"), torch.float16: ("f16", "F16"), torch.float32: ("f32", "F32"),
         torch.int64: ("i64", "I64")}
LOG = []


def raw(t):
    t = t.detach().contiguous().cpu().reshape(-1)
    return bytes(t.view(torch.uint8).numpy().tobytes())


class File:
    """One vector file: tensors by name, cases by id."""

    def __init__(self, name):
        self.name, self.tensors, self.cases = name, {}, {}

    def tensor(self, name, t):
        if name not in self.tensors:
            self.tensors[name] = (TYPES[t.dtype][1], list(t.shape), raw(t), t.element_size())
        return name

    def case(self, ident, operation, reason, inputs, output, **more):
        self.cases[ident] = dict(operation=operation, recipe="", flags=["recorded"], reason=reason,
                                 verdict="exact", generator="recorded", seed="0x0", want={"d": output[0]},
                                 output=TYPES[output[1]][0], **{"in": inputs}, **more)

    def write(self, folder, metadata):
        order = sorted(self.tensors, key=lambda n: (-self.tensors[n][3], n))
        texts = dict(metadata)
        texts.update({"case:" + k: json.dumps(v, sort_keys=True, separators=(",", ":"))
                      for k, v in self.cases.items()})
        header, at = {"__metadata__": dict(sorted(texts.items()))}, 0
        for n in order:
            dtype, shape, data, _ = self.tensors[n]
            header[n] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
            at += len(data)
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(os.path.join(folder, self.name), "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text)
            for n in order:
                f.write(self.tensors[n][2])
        print(self.name, len(self.cases), "cases", 8 + len(text) + at, "bytes", flush=True)


def kernels(run):
    """Names of the kernels that one call starts."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        run()
        torch.cuda.synchronize()
    return [e.key[:110] for e in p.key_averages() if "mem" not in e.key.lower()[:6]]


def attempt(ident, function):
    try:
        function()
    except Exception as error:  # noqa: BLE001 - whatever a library throws must not stop the recording
        LOG.append(f"{ident}: {type(error).__name__}: {str(error)[:300]}")
        print("failed", LOG[-1][:160], file=sys.stderr, flush=True)


def fresh(tag, taken=set()):
    """A name for operands that no other call has."""
    name, n = tag, 1
    while name in taken:
        n += 1
        name = f"{tag}.{n}"
    taken.add(name)
    return name


def spread(rows, cols, dtype, low=-3, high=4):
    """Normal values over a few binades, so that alignment, truncation and order all show."""
    x = torch.randn(rows, cols, device=DEVICE)
    return (x * torch.exp2(torch.randint(low, high, (rows, cols), device=DEVICE).float())).to(dtype)


def record(file, ident, call, inputs, reason, output=lambda d: d[:ROWS, :ROWS], **more):
    def run():
        d = call()
        torch.cuda.synchronize()
        try:
            names = " + ".join(kernels(call))
        except Exception as error:  # noqa: BLE001
            names = f"(no profile: {error})"
        kept = output(d)
        roles = {role: file.tensor(name, t) for role, (name, t) in inputs.items()}
        file.case(ident, more.pop("operation", "gemm"), (reason + "; " + names)[:199], roles,
                  (file.tensor(ident + "/d", kept), kept.dtype), **more)
    attempt(ident, run)


# ---- fp8 through cuBLASLt and CUTLASS ---------------------------------------------------------------------

F8 = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
OUT = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def fp8_operands(m, n, k, fa="e4m3", fb="e4m3"):
    a, b = spread(m, k, F8[fa]), spread(n, k, F8[fb])
    tag = fresh(f"{fa}-{fb}-{m}x{n}x{k}")
    return a, b, tag, {"a": (tag + "/a", a[:ROWS]), "b": (tag + "/b", b[:ROWS])}


def fp8_tensorwise(file):
    plan = [(64, 64, 512, "e4m3", "e4m3", ("f32", "bf16", "f16")), (64, 64, 512, "e5m2", "e4m3", ("f32", "bf16")),
            (64, 64, 512, "e4m3", "e5m2", ("f32",)), (64, 64, 8192, "e4m3", "e4m3", ("f32",)),
            (17, 48, 528, "e4m3", "e4m3", ("f32",)), (1, 16, 144, "e4m3", "e4m3", ("f32",)),
            (129, 144, 1040, "e4m3", "e4m3", ("f32",)), (1024, 1024, 2048, "e4m3", "e4m3", ("f32", "bf16")),
            (4096, 4096, 4096, "e4m3", "e4m3", ("f32",)), (16, 4096, 4096, "e4m3", "e4m3", ("f32",))]
    for m, n, k, fa, fb, outs in plan:
        a, b, tag, inputs = fp8_operands(m, n, k, fa, fb)
        sa, sb = torch.tensor(0.7, device=DEVICE), torch.tensor(1.3, device=DEVICE)
        scales = {"a_scale": ("tensorwise/a_scale", sa.reshape(1, 1)), "b_scale": ("tensorwise/b_scale", sb.reshape(1, 1))}
        for out in outs:
            for fast in (False, True):
                record(file, f"cublaslt-{tag}-tensor-fast{int(fast)}-{out}",
                       lambda o=OUT[out], f=fast: torch._scaled_mm(a, b.t(), scale_a=sa, scale_b=sb, out_dtype=o,
                                                                  use_fast_accum=f),
                       inputs | scales, f"torch._scaled_mm tensor-wise scales, use_fast_accum={fast}")
    a, b, tag, inputs = fp8_operands(64, 64, 256)
    one, bias = torch.ones((), device=DEVICE), spread(1, 64, torch.bfloat16)
    for fast in (False, True):
        record(file, f"cublaslt-{tag}-bias-fast{int(fast)}-bf16",
               lambda f=fast: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, bias=bias[0],
                                               out_dtype=torch.bfloat16, use_fast_accum=f),
               inputs | {"bias": (tag + "/bias", bias[0, :ROWS])}, f"bias bf16, scales 1, use_fast_accum={fast}")


def fp8_rowwise(file):
    for m, n, k in [(64, 64, 512), (17, 48, 528), (128, 256, 2048), (1024, 1024, 4096)]:
        a, b, tag, inputs = fp8_operands(m, n, k)
        sa, sb = torch.rand(m, 1, device=DEVICE) + 0.5, torch.rand(1, n, device=DEVICE) + 0.5
        scales = {"a_scale": (tag + "/row_a_scale", sa[:ROWS]), "b_scale": (tag + "/row_b_scale", sb.t()[:ROWS].contiguous())}
        for out in ("bf16", "f32"):
            for fast in (False, True):
                record(file, f"scaledmm-{tag}-row-fast{int(fast)}-{out}",
                       lambda o=OUT[out], f=fast: torch._scaled_mm(a, b.t(), scale_a=sa, scale_b=sb, out_dtype=o,
                                                                  use_fast_accum=f),
                       inputs | scales, f"torch._scaled_mm row-wise scales, use_fast_accum={fast}")


def outer_major(t):
    """Same values, first axis contiguous."""
    return t.t().contiguous().t()


def fp8_blockwise(file):
    m = n = 128
    k = 1024
    a, b, tag, inputs = fp8_operands(m, n, k)
    sa, sb1 = torch.rand(m, k // 128, device=DEVICE) + 0.5, torch.rand(n, k // 128, device=DEVICE) + 0.5
    sb128 = torch.rand(n // 128, k // 128, device=DEVICE) + 0.5
    keep = {"a_scale": (tag + "/block_a_scale", sa[:ROWS])}
    forms = {"1x128-1x128": (outer_major(sa), outer_major(sb1).t(), sb1[:ROWS]),
             "1x128-128x128": (outer_major(sa), sb128.t(), sb128),
             "1x128-128x128-outer": (outer_major(sa), outer_major(sb128).t(), sb128)}
    for form, (xa, xb, kept) in forms.items():
        for out in ("bf16", "f32"):
            for fast in (False, True):
                record(file, f"cublaslt-{tag}-block-{form}-fast{int(fast)}-{out}",
                       lambda o=OUT[out], f=fast, xa=xa, xb=xb: torch._scaled_mm(
                           a, b.t(), scale_a=xa, scale_b=xb, out_dtype=o, use_fast_accum=f),
                       inputs | keep | {"b_scale": (f"{tag}/block_b_scale_{form}", kept)},
                       f"torch._scaled_mm {form} fp32 scales, use_fast_accum={fast}")


# ---- bf16, f16, tf32, fp32 ----------------------------------------------------------------------------------

def half_operands(m, n, k, dtype):
    a, b = spread(m, k, dtype, -2, 3), spread(n, k, dtype, -2, 3)
    tag = fresh(f"{TYPES[dtype][0]}-{m}x{n}x{k}")
    return a, b, tag, {"a": (tag + "/a", a[:ROWS]), "b": (tag + "/b", b[:ROWS])}


def halves(file):
    for dtype in (torch.bfloat16, torch.float16):
        for m, n, k in [(64, 64, 512), (17, 33, 257), (1, 16, 1000), (129, 131, 1031), (1024, 1024, 2048), (64, 64, 8192)]:
            if dtype == torch.float16 and k > 2048:
                continue
            a, b, tag, inputs = half_operands(m, n, k, dtype)
            record(file, f"mm-{tag}-f32", lambda: torch.mm(a, b.t(), out_dtype=torch.float32), inputs, "torch.mm, out f32")
            for reduced in (True, False):
                def call(r=reduced):
                    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = r
                    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = r
                    return torch.mm(a, b.t())
                record(file, f"mm-{tag}-same-reduced{int(reduced)}", call, inputs,
                       f"torch.mm, out as operands, allow_reduced_precision_reduction={reduced}")
    a, b, tag, inputs = half_operands(64, 64, 512, torch.bfloat16)
    c, bias = spread(64, 64, torch.bfloat16), spread(1, 64, torch.bfloat16)[0]
    record(file, f"addmm-{tag}-beta", lambda: torch.addmm(c, a, b.t(), beta=0.5, alpha=1.5),
           inputs | {"c": (tag + "/c", c[:ROWS, :ROWS])}, "torch.addmm, matrix c", alpha=1.5, beta=0.5)
    record(file, f"linear-{tag}-bias", lambda: torch.nn.functional.linear(a, b, bias),
           inputs | {"bias": (tag + "/bias", bias[:ROWS])}, "linear with bias")


def singles(file):
    for m, n, k in [(64, 64, 256), (17, 33, 131), (256, 256, 1024)]:
        a, b, tag, inputs = half_operands(m, n, k, torch.float32)
        for tf32 in (True, False):
            def call(t=tf32):
                torch.backends.cuda.matmul.allow_tf32 = t
                return torch.mm(a, b.t())
            record(file, f"mm-{tag}-tf32{int(tf32)}", call, inputs, f"torch.mm of fp32, allow_tf32={tf32}")


# ---- grouped --------------------------------------------------------------------------------------------------

def grouped(file):
    k, n, sizes = 512, 64, [16, 0, 1, 47]
    ends = torch.tensor(sizes, device=DEVICE).cumsum(0).to(torch.int32)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), ends.cpu().to(torch.int64)])
    rows, experts = sum(sizes), len(sizes)
    keep = lambda d: d[:32, :ROWS]
    for dtype in (torch.bfloat16, torch.float8_e4m3fn):
        a = spread(rows, k, dtype)
        b = spread(experts * n, k, dtype).reshape(experts, n, k)
        tag = f"grouped-{TYPES[dtype][0]}"
        inputs = {"a": (tag + "/a", a[:32]), "b": (tag + "/b", b[:, :ROWS]), "offsets": (tag + "/offsets", offsets)}
        if dtype == torch.bfloat16:
            record(file, tag + "-forward", lambda: torch._grouped_mm(a, b.transpose(-2, -1), offs=ends), inputs,
                   "torch._grouped_mm, rows by expert", keep, operation="grouped-forward")
            continue
        sa, sb = torch.rand(rows, device=DEVICE) + 0.5, torch.rand(experts, n, device=DEVICE) + 0.5
        scales = {"a_scale": (tag + "/a_scale", sa[:32]), "b_scale": (tag + "/b_scale", sb[:, :ROWS])}
        for fast in (False, True):
            record(file, f"{tag}-forward-fast{int(fast)}",
                   lambda f=fast: torch._scaled_grouped_mm(a, b.transpose(-2, -1), sa, sb, offs=ends,
                                                           out_dtype=torch.bfloat16, use_fast_accum=f),
                   inputs | scales, f"torch._scaled_grouped_mm, row-wise scales, use_fast_accum={fast}", keep,
                   operation="grouped-forward")
    ends_k = torch.tensor([32, 32, 48, 128], device=DEVICE, dtype=torch.int32)
    offsets_k = torch.tensor([0, 32, 32, 48, 128])
    for dtype in (torch.bfloat16, torch.float8_e4m3fn):
        a, b = spread(64, 128, dtype), spread(64, 128, dtype)
        tag = f"wgrad-{TYPES[dtype][0]}"
        inputs = {"a": (tag + "/a", a[:ROWS]), "b": (tag + "/b", b[:ROWS]), "offsets": (tag + "/offsets", offsets_k)}
        keep_k = lambda d: d[:, :ROWS, :ROWS]
        if dtype == torch.bfloat16:
            record(file, tag, lambda: torch._grouped_mm(a, b.t(), offs=ends_k), inputs,
                   "torch._grouped_mm, K by expert", keep_k, operation="grouped-wgrad")
            continue
        sa, sb = torch.rand(4 * 64, device=DEVICE) + 0.5, torch.rand(4 * 64, device=DEVICE) + 0.5
        scales = {"a_scale": (tag + "/a_scale", sa.reshape(4, 64)[:, :ROWS].contiguous()),
                  "b_scale": (tag + "/b_scale", sb.reshape(4, 64)[:, :ROWS].contiguous())}
        record(file, tag + "-fast1",
               lambda: torch._scaled_grouped_mm(a, b.t(), sa, sb, offs=ends_k, out_dtype=torch.bfloat16,
                                                use_fast_accum=True),
               inputs | scales, "torch._scaled_grouped_mm, K by expert", keep_k, operation="grouped-wgrad")


# ---- Triton -----------------------------------------------------------------------------------------------------

def triton_products(file):
    global triton, tl  # Triton compiles the function from its text and looks names up in the module
    import triton
    import triton.language as tl

    @triton.jit
    def product(a, b, d, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, IMPRECISE: tl.constexpr,
                PRECISION: tl.constexpr):
        m = tl.program_id(0) * BM + tl.arange(0, BM)
        n = tl.program_id(1) * BN + tl.arange(0, BN)
        k = tl.arange(0, BK)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k0 in range(0, K, BK):
            x = tl.load(a + m[:, None] * K + (k0 + k)[None, :])
            y = tl.load(b + n[None, :] * K + (k0 + k)[:, None])
            if IMPRECISE < 0:
                acc = tl.dot(x, y, acc, input_precision=PRECISION)
            else:
                acc = tl.dot(x, y, acc, input_precision=PRECISION, max_num_imprecise_acc=IMPRECISE)
        tl.store(d + m[:, None] * N + n[None, :], acc)

    m = n = 128
    k = 1024
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2, torch.bfloat16, torch.float16, torch.float32):
        kk = k if dtype != torch.float32 else 256
        a, b = spread(m, kk, dtype), spread(n, kk, dtype)
        tag = f"triton-{TYPES[dtype][0]}"
        inputs = {"a": (tag + "/a", a[:ROWS]), "b": (tag + "/b", b[:ROWS])}
        eight = a.element_size() == 1
        plans = [(64, 64, 64, 4, -1), (16, 16, 64, 1, -1), (128, 128, 128 if eight else 64, 8, -1)]
        if eight:
            plans += [(64, 64, 128, 4, 0), (64, 64, 128, 4, 32), (64, 64, 128, 4, 64), (64, 64, 128, 4, 128)]
        for bm, bn, bk, warps, imprecise in plans:
            if dtype == torch.float32:
                bk = 32
            def call(bm=bm, bn=bn, bk=bk, warps=warps, imprecise=imprecise):
                d = torch.empty(m, n, device=DEVICE)
                product[(m // bm, n // bn)](a, b, d, kk, n, bm, bn, bk, imprecise, "tf32", num_warps=warps)
                return d
            record(file, f"{tag}-{bm}x{bn}x{bk}-w{warps}" + (f"-imprecise{imprecise}" if imprecise >= 0 else ""), call,
                   inputs, f"tl.dot {bm}x{bn}x{bk}, {warps} warps, max_num_imprecise_acc="
                   f"{'default' if imprecise < 0 else imprecise}")


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(20261129)
    driver = os.popen("nvidia-smi --query-gpu=driver_version --format=csv,noheader").read().strip()
    capability = "sm_%d%d" % torch.cuda.get_device_capability()
    metadata = {"mxcheck": "1", "device": f"{torch.cuda.get_device_name()} ({capability})", "driver": driver,
                "library": f"torch {torch.__version__}, CUDA {torch.version.cuda}",
                "date": datetime.date.today().isoformat(),
                "what": f"products d = a b^T, operands [rows, K]: first {ROWS} rows of each, and their outputs"}
    started = time.time()
    for name, parts in [("products-fp8-h200.safetensors", (fp8_tensorwise, fp8_rowwise, fp8_blockwise)),
                        ("products-half-h200.safetensors", (halves, singles)),
                        ("products-grouped-h200.safetensors", (grouped,)),
                        ("products-triton-h200.safetensors", (triton_products,))]:
        file = File(name)
        for part in parts:
            attempt(part.__name__, lambda: part(file))
        extra = {}
        if "triton" in name:
            try:
                import triton
                extra = {"library": f"triton {triton.__version__}, torch {torch.__version__}"}
            except ImportError:
                pass
        file.write(folder, metadata | extra)
    LOG.append(f"{time.time() - started:.1f} s")
    with open(os.path.join(folder, "log.txt"), "w") as f:
        f.write("\n".join(LOG) + "\n")


if __name__ == "__main__":
    main()
