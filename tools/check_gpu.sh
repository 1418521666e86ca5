#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Judges and measures the bundled CUDA kernels on the GPU of this machine: check_gpu.sh [BUILD] [RESULTS]
#
# BUILD (build): where mxcheck and mxcheck-gpu.so lie; they are built first where there is a compiler and no such file.
# RESULTS (gpu-results): gets kernel.json, kernels.tsv (digests for vectors/seen), sanitizer.txt, bench.json, triton.txt.
# Exit status: that of the checks; 3 where there is no device.
set -u
cd "$(dirname "$0")/.." || exit 2
build=${1:-build}
results=${2:-gpu-results}
mkdir -p "$results"
[ -x "$build/mxcheck" ] && [ -e "$build/mxcheck-gpu.so" ] || make all || exit 2

status=0
{
    nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv,noheader
    date -u +%Y-%m-%d
} >"$results/device.txt" 2>&1

echo "== mxcheck kernel: every GPU kernel on the golden vectors"
"$build/mxcheck" kernel --vectors vectors/ --subject gpu --timeout 60 --json "$results/kernel.json" \
    --record "$results/kernels.tsv" >"$results/kernel.txt" || status=$?
head -n 40 "$results/kernel.txt"
[ "$status" = 3 ] && exit 3

echo "== a kernel in Triton, through --exec"
if python3 -c 'import torch, triton' 2>/dev/null; then
    "$build/mxcheck" kernel --vectors vectors/ --only mxfp8 --timeout 120 \
        --exec "python3 tools/examples/triton_quantize.py" >"$results/triton.txt" || status=1
    head -n 20 "$results/triton.txt"
else
    echo "not run: no torch or triton here" | tee "$results/triton.txt"
fi

echo "== mxcheck bench --gpu"
"$build/mxcheck" bench --gpu --json "$results/bench.json" 2>&1 | tee "$results/bench.txt"

echo "== compute-sanitizer, on small sizes"
: >"$results/sanitizer.txt"
if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck initcheck; do
        for only in ${SANITIZED:-swiglu-quantize-both:mxfp8:33x31:f32 shape:33x127:mxfp8:bf16}; do
            timeout "${SANITIZER_SECONDS:-100}" compute-sanitizer --tool "$tool" --target-processes all \
                --error-exitcode 9 "$build/mxcheck" kernel --vectors vectors/ --subject gpu --only "$only" --repeat 1 \
                --timeout 90 >"$results/sanitizer-$tool.log" 2>&1
            code=$?
            echo "$tool, cases $only: exit $code; $(grep 'ERROR SUMMARY' "$results/sanitizer-$tool.log" | sort | uniq -c | tr '\n' ';')" |
                tee -a "$results/sanitizer.txt"
            [ "$code" = 9 ] && status=1
        done
    done
else
    echo "not run: no compute-sanitizer here" | tee "$results/sanitizer.txt"
fi
exit "$status"
