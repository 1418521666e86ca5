#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Any program can be checked: this one is an MXFP8 quantiser in NumPy.

    mxcheck kernel --vectors vectors/ --exec 'python3 program.py'

mxcheck calls it with two directories: IN holds a safetensors file per case, with the inputs by role and the
case's description in the metadata; for each case that it can compute the program writes a file of the same
name to OUT, with the outputs by role: dense, row-major, one code per byte."""
import json
import pathlib
import sys

import numpy as np

DTYPES = {"F32": "<f4", "BF16": "<u2", "U8": "|u1", "F8_E4M3": "|u1", "F8_E8M0": "|u1"}


def load(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    meta = header.pop("__metadata__")
    case = next(json.loads(v) for k, v in meta.items() if k.startswith("case:"))
    tensors = {}
    for name, t in header.items():
        if t["dtype"] in DTYPES:
            begin, end = (8 + size + o for o in t["data_offsets"])
            tensors[name] = np.frombuffer(data[begin:end], DTYPES[t["dtype"]]).reshape(t["shape"])
            if t["dtype"] == "BF16":
                tensors[name] = (tensors[name].astype("<u4") << 16).view("<f4")
    return case, tensors


def save(path, tensors):
    header, at = {}, 0
    for name, (dtype, array) in tensors.items():
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(a.tobytes() for _, a in tensors.values()))


def e4m3(x):
    """To nearest even, saturating; NaN becomes 7F."""
    m = np.minimum(np.abs(x), np.float32(480))
    e = np.where(m < 2.0**-6, -6, np.frexp(m)[1] - 1)
    code = np.minimum((e + 6) * 8 + np.rint(np.ldexp(m, 3 - e)), 0x7E)
    code = np.where(np.isnan(x), 0, code).astype(np.uint8) | np.where(np.signbit(x), 0x80, 0).astype(np.uint8)
    return np.where(np.isnan(x), np.uint8(0x7F), code)


def mxfp8(x):
    rows, cols = x.shape
    blocks = -(-cols // 32)
    padded = np.zeros((rows, blocks * 32), np.float32)
    padded[:, :cols] = x
    padded = padded.reshape(rows, blocks, 32)
    amax = np.fmax.reduce(np.abs(padded), axis=2, initial=0)  # fmax ignores NaN
    p = (amax * (np.float32(1) / np.float32(448))).view(np.uint32)
    s = (p >> 23) + (((p & 0x7FFFFF) != 0) & (p > 0x00400000))  # rounded up
    s = np.minimum(s, 0xFE).astype(np.int32)
    codes = e4m3(np.ldexp(padded, (127 - s)[:, :, None]).astype(np.float32))
    return codes.reshape(rows, blocks * 32)[:, :cols].copy(), s.astype(np.uint8)


def main():
    source, target = map(pathlib.Path, sys.argv[1:3])
    for path in sorted(source.glob("*.safetensors")):
        case, tensors = load(path)
        if case["operation"] != "quantize" or case.get("recipe") != "mxfp8" or "x" not in tensors:
            continue
        x = tensors["x"][:, : case.get("cols") or None] if case.get("pitch") else tensors["x"]
        with np.errstate(all="ignore"):
            q, scale = mxfp8(x)
        save(target / path.name, {"q": ("U8", q), "scale": ("U8", scale)})


if __name__ == "__main__":
    main()
