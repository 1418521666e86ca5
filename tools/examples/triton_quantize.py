#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An MXFP8 quantiser in Triton, offered as a program; needs torch, triton and a GPU with fp8 conversions.

    mxcheck kernel --vectors vectors/ --exec 'python3 triton_quantize.py' --only mxfp8

Reading and writing of case files is program.py's."""
import pathlib
import sys

import numpy as np
import torch
import triton
import triton.language as tl

from program import load, save


@triton.jit
def quantize(x, q, scale, cols, blocks, BLOCK: tl.constexpr):
    row, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    c = block * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
    amax = tl.max(tl.where(v == v, tl.abs(v), 0.0), axis=0)  # NaN is ignored
    p = (amax * 0.002232142857142857).to(tl.int32, bitcast=True)  # fl(1/448)
    s = (p >> 23) + ((p & 0x7FFFFF) != 0) * (p > 0x00400000)  # rounded up
    s = tl.minimum(s, 0xFE)
    multiplier = tl.where(s == 0xFE, 0x00400000, (254 - s) << 23).to(tl.float32, bitcast=True)
    code = (v * multiplier).to(tl.float8e4nv).to(tl.uint8, bitcast=True)
    tl.store(q + row * cols + c, code, mask=c < cols)
    tl.store(scale + row * blocks + block, s.to(tl.uint8))


def main():
    source, target = map(pathlib.Path, sys.argv[1:3])
    for path in sorted(source.glob("*.safetensors")):
        case, tensors = load(path)
        if case["operation"] != "quantize" or case.get("recipe") != "mxfp8" or "x" not in tensors:
            continue
        x = tensors["x"][:, : case.get("cols") or None] if case.get("pitch") else tensors["x"]
        rows, cols = x.shape
        blocks = -(-cols // 32)
        q = torch.zeros(rows, cols, dtype=torch.uint8, device="cuda")
        scale = torch.zeros(rows, blocks, dtype=torch.uint8, device="cuda")
        if rows and blocks:
            on_device = torch.from_numpy(np.ascontiguousarray(x)).cuda()
            quantize[(rows, blocks)](on_device, q, scale, cols, blocks, BLOCK=32)
        save(target / path.name, {"q": ("U8", q.cpu().numpy()), "scale": ("U8", scale.cpu().numpy())})


if __name__ == "__main__":
    main()
