#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times ml_dtypes' cast of float32 to float8_e4m3fn, for `mxcheck bench --against`.

Usage: bench_ml_dtypes.py ELEMENTS REPEATS
Prints "ml_dtypes-VERSION SECONDS-PER-ELEMENT" (the median), or why it could not.
"""
import sys
import time

try:
    import ml_dtypes
    import numpy
except ImportError as missing:
    print(f"{missing.name} not found for {sys.executable}")
    sys.exit(1)

elements, repeats = int(sys.argv[1]), int(sys.argv[2])
x = numpy.random.default_rng(1).standard_normal(elements, dtype=numpy.float32)
y = numpy.zeros(elements, dtype=ml_dtypes.float8_e4m3fn)
seconds = []
for turn in range(repeats + 1):
    start = time.perf_counter()
    y[:] = x
    seconds.append(time.perf_counter() - start)
print(f"ml_dtypes-{ml_dtypes.__version__} {sorted(seconds[1:])[repeats // 2] / elements:.6e}")
