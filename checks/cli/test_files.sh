# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# The file tools: quantize, dequantize, show, diff and list, on files that NumPy wrote, judged by NumPy.
. "${root:?}/checks/cli/expect.sh"
python=$(numpy_python)

"$python" - <<'EOF'
import json, struct
import numpy as np
rng = np.random.default_rng(1)
w = rng.standard_normal((70, 100)).astype("<f4")
np.save("w.npy", w)
np.save("fortran.npy", np.asfortranarray(w))
def st(path, tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for name, (dtype, a) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(a.shape), "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
st("in.safetensors", {"w": ("F32", w), "b": ("F32", w[0]), "e": ("F32", w[:0]), "h": ("F16", w.astype("<f2"))},
   {"made": "by hand"})
EOF

# ---- quantize and dequantize: the codes and scales as files, and the values by NumPy's own arithmetic
expect 0 '1 tensor quantized by mxfp4 into q.npy' "$MXCHECK" quantize w.npy -r mxfp4 -o q.npy
expect 0 '1 tensor dequantized to f32' "$MXCHECK" dequantize q.npy -r mxfp4 -o y.npy
expect 0 '3 tensors quantized by mxfp8 into q.safetensors' "$MXCHECK" quantize in.safetensors -r mxfp8 -o q.safetensors
expect 0 '' "$MXCHECK" quantize in.safetensors -r mxfp8 -l tile-128x4 -o t.safetensors
expect 0 '' "$MXCHECK" quantize in.safetensors -r nvfp4 -t w -o n.safetensors
expect 0 '' "$MXCHECK" quantize in.safetensors -r fp8-tensor -t w -o p.safetensors
for f in q t n p; do expect 0 'dequantized to f32' "$MXCHECK" dequantize $f.safetensors -o $f.back.safetensors; done
cmp q.back.safetensors t.back.safetensors
"$python" - <<'EOF'
import json
import numpy as np
w, q, s, y = (np.load(f + ".npy") for f in ("w", "q", "q.scale", "y"))
table = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
table = np.concatenate([table, -table])
scale = np.repeat(2.0 ** (s.astype(int) - 127), 32, axis=1)[:, :100]
assert s.shape == (70, 4) and np.array_equal((table[q] * scale).astype("f4"), y)
assert np.all(np.abs(w - y) <= scale)
d = open("q.safetensors", "rb").read()
n = int.from_bytes(d[:8], "little")
h = json.loads(d[8:8 + n])
assert n % 8 == 0 and h["w"]["dtype"] == "F8_E4M3" and h["w.scale"]["dtype"] == "F8_E8M0"
assert h["w.scale"]["shape"] == [70, 4] and h["b"]["dtype"] == "F32" and h["e"]["shape"] == [0, 100]
assert h["__metadata__"] == {"made": "by hand", "recipe:w": "mxfp8", "recipe:e": "mxfp8", "recipe:h": "mxfp8"}
EOF
expect 0 '0 differ' "$MXCHECK" diff y.npy y.npy
expect 0 '2 tensors quantized by mxfp8' "$MXCHECK" quantize in.safetensors -r mxfp8 -t w -t h -o two.safetensors

expect 2 "no recipe 'nope'" "$MXCHECK" quantize w.npy -r nope -o x.npy
expect 2 "no layout 'nope'" "$MXCHECK" quantize w.npy -r mxfp8 -l nope -o x.npy
expect 2 'does not place e8m0 scales' "$MXCHECK" quantize w.npy -r mxfp8 -l deepgemm-f32 -o x.npy
expect 2 "no tensor 'z'" "$MXCHECK" quantize in.safetensors -r mxfp8 -t z -o x.safetensors
expect 2 'Fortran order' "$MXCHECK" quantize fortran.npy -r mxfp8 -o x.npy
expect 2 'No such file' "$MXCHECK" quantize absent.npy -r mxfp8 -o x.npy
expect 2 'No such file' "$MXCHECK" quantize w.npy -r mxfp8 -o absent/x.npy
expect 2 'give --recipe' "$MXCHECK" dequantize q.npy -o x.npy
expect 2 'has 280 bytes' "$MXCHECK" dequantize q.npy -r mxfp4-col -o x.npy
test ! -e x.npy
test ! -e x.safetensors

# ---- how others name and pack the same tensors
"$python" - <<'EOF'
import json, struct
import numpy as np
def read(path):
    b = open(path, "rb").read()
    n = int.from_bytes(b[:8], "little")
    h = json.loads(b[8:8 + n])
    h.pop("__metadata__")
    return {k: (v["dtype"], v["shape"], b[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]]) for k, v in h.items()}
def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
p, n = read("q.safetensors"), read("n.safetensors")
write("names.safetensors", {"m.weight": p["w"], "m.weight_s": p["w.scale"], "other": p["b"]})
c = np.frombuffer(n["w"][2], "u1").reshape(70, 100)
low, high = (c[:, 0::2] | c[:, 1::2] << 4), (c[:, 1::2] | c[:, 0::2] << 4)
for name, packed in (("low", low), ("high", high)):
    write(name + ".safetensors", {"m_packed": ("U8", [70, 50], packed.astype("u1").tobytes()),
                                  "m_scale": n["w.scale"], "m_g": n["w.global"]})
EOF
expect 0 '1 tensor dequantized' "$MXCHECK" dequantize names.safetensors -r mxfp8 --names ,_s -o a.safetensors
expect 0 '1 tensor compared, 0 differ' "$MXCHECK" diff a.safetensors:m.weight q.back.safetensors:w
for order in low high; do
    expect 0 '1 tensor dequantized' "$MXCHECK" dequantize $order.safetensors -r nvfp4 --names _packed,_scale,_g \
        --packing fp4-$order-first -o a.safetensors
    expect 0 '1 tensor compared, 0 differ' "$MXCHECK" diff a.safetensors:m n.back.safetensors:w
done
expect 0 'columns 48 to 63' "$MXCHECK" show low.safetensors m_packed -r nvfp4 --names _packed,_scale,_g -P fp4-low-first --at 1,48
expect 2 'no codes with scales beside them' "$MXCHECK" dequantize names.safetensors -r mxfp8 -o b.safetensors
expect 2 'packs no rows of 4-bit codes' "$MXCHECK" dequantize low.safetensors -r nvfp4 --names _packed,_scale,_g -P tile-128x4 -o b.safetensors
expect 2 'has no second-level scale' "$MXCHECK" dequantize low.safetensors -r nvfp4 --names _packed,_scale -P fp4-low-first -o b.safetensors
expect 2 'codes of 8 bits' "$MXCHECK" dequantize names.safetensors -r mxfp8 --names ,_s -P fp4-low-first -o b.safetensors
test ! -e b.safetensors

# The committed vectors open with NumPy alone, by the three lines of the README.
"$python" - "$root/vectors/cast.safetensors" <<'EOF'
import json, sys
import numpy as np
b = open(sys.argv[1], "rb").read(); n = int.from_bytes(b[:8], "little"); h = json.loads(b[8:8 + n]); m = h.pop("__metadata__")
t = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "U32": "<u4", "I8": "i1"}
x = {k: np.frombuffer(b[8 + n:], t.get(v["dtype"], "u1"), int(np.prod(v["shape"])), v["data_offsets"][0]).reshape(v["shape"]) for k, v in h.items()}
case = json.loads(next(v for k, v in sorted(m.items()) if k.startswith("case:")))
q, y = (x[case[k][r]] for k, r in (("in", "x"), ("want", "q")))
assert q.size == y.size > 0 and case["operation"] == "cast", case
EOF

# ---- show
expect 0 'F8_E8M0' "$MXCHECK" show q.safetensors
expect 0 'metadata made: by hand' "$MXCHECK" show q.safetensors
expect 0 'scale of block [3, 3]' "$MXCHECK" show t.safetensors w --at 3,96 -n 1
expect 0 'with the global scale' "$MXCHECK" show n.safetensors w -n 1
expect 2 "no tensor or case 'z'" "$MXCHECK" show q.safetensors z
case=$("$MXCHECK" list cases --vectors "$root/vectors/bugs.safetensors" | sed -n '2s/ .*//p')
expect 0 'flag bug-B' "$MXCHECK" show "$root/vectors/bugs.safetensors" "$case"
expect 2 'a matrix of 70 x 100' "$MXCHECK" show q.safetensors w --at 70,0
head -c 200 q.safetensors >cut.safetensors
expect 2 'cut.safetensors: truncated' "$MXCHECK" show cut.safetensors

# ---- diff
"$python" -c '
import numpy as np
q = np.load("q.npy"); q[2, 33] ^= 8; q[69, 99] ^= 1; np.save("other.npy", q)
s = np.load("q.scale.npy"); np.save("other.scale.npy", s)'
expect 1 'data: 2 of 7000 elements differ' "$MXCHECK" diff q.npy other.npy --as e2m1 -r mxfp4
expect 1 '[69, 99]           [69, 3]' "$MXCHECK" diff q.npy other.npy --as e2m1 -r mxfp4
expect 1 'only in' "$MXCHECK" diff in.safetensors q.safetensors
expect 1 'type f32 against e4m3' "$MXCHECK" diff in.safetensors:w q.safetensors:w
expect 0 '1 tensor compared, 0 differ' "$MXCHECK" diff in.safetensors:w w.npy
expect 2 'Name one as FILE:TENSOR' "$MXCHECK" diff in.safetensors:w q.npy
expect 2 "no tensor 'z'" "$MXCHECK" diff in.safetensors:z q.npy

# ---- list
expect 0 'triton-lang/triton#11753' "$MXCHECK" list flags
expect 0 'first input' "$MXCHECK" list cases --vectors "$root/vectors"
expect 2 '--vectors DIR' "$MXCHECK" list cases
expect 2 'manifest.json' "$MXCHECK" list cases --vectors .
expect 2 'holds no cases' "$MXCHECK" list cases --vectors q.safetensors
