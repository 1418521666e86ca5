# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# mxcheck kernel: statuses and messages of good, foreign and hostile kernels, examples, reports.
. "${root:?}/checks/cli/expect.sh"
V=$root/vectors
CC=${CC:-cc}

expect 0 "PASSED: 1 of 1" "$MXCHECK" kernel --vectors "$V" --subject emulator
expect 0 "Examples:" "$MXCHECK" kernel --help

# Bad usage and bad input.
expect 2 "--vectors DIR is missing" "$MXCHECK" kernel
expect 2 "/nonexistent" "$MXCHECK" kernel --vectors /nonexistent
expect 2 "no case matches nothing-like-it" "$MXCHECK" kernel --vectors "$V" --only nothing-like-it
expect 2 "--shard takes I/N" "$MXCHECK" kernel --vectors "$V" --shard 3/2
expect 2 "not a time limit" "$MXCHECK" kernel --vectors "$V" --timeout nan
head -c 5000 "$V/cast.safetensors" >cut.safetensors
expect 2 "cut.safetensors" "$MXCHECK" kernel --vectors cut.safetensors

expect 0 "PASSED" "$MXCHECK" kernel --vectors "$V" --subject emulator --require mxfp8 --require nan
expect 3 "no case of the required 'teapot' was judged" "$MXCHECK" kernel --vectors "$V" --subject emulator \
    --require teapot

# Libraries that are none of ours.
expect 2 "no such file" "$MXCHECK" kernel --vectors "$V" --kernel ./none.so
echo 'not a library' >text.so
expect 2 "text.so" "$MXCHECK" kernel --vectors "$V" --kernel ./text.so
library() { # NAME BODY: a library whose source is BODY
    printf '#include <stdlib.h>\n#include "mx_kernel.h"\n%s\n' "$2" >"$1.c"
    "$CC" -shared -fPIC -I"$root/lib" -o "$1.so" "$1.c"
}
library foreign 'int answer;'
expect 2 "exports no symbol mx_kernel_describe" "$MXCHECK" kernel --vectors "$V" --kernel ./foreign.so
library stale 'const mx_kernel_library *mx_kernel_describe(void) { static mx_kernel_library l = {99}; return &l; }'
expect 2 "built for ABI 99" "$MXCHECK" kernel --vectors "$V" --kernel ./stale.so
library null 'const mx_kernel_library *mx_kernel_describe(void) { return 0; }'
expect 2 "returned NULL" "$MXCHECK" kernel --vectors "$V" --kernel ./null.so
library dies '__attribute__((constructor)) static void die(void) { abort(); }'
expect 2 "killed by SIGABRT while being loaded" "$MXCHECK" kernel --vectors "$V" --kernel ./dies.so
library undefined 'int missing(void); const mx_kernel_library *mx_kernel_describe(void) { missing(); return 0; }'
expect 2 "undefined symbol" "$MXCHECK" kernel --vectors "$V" --kernel ./undefined.so
library nodevice 'static int o(char *d, size_t n) { (void)d; (void)n; return 7; }
static const char *t(int e) { return e == 7 ? "the device is on holiday" : "?"; }
const mx_kernel_library *mx_kernel_describe(void) { static mx_kernel_op op = {"a", "cast", "mxfp8"};
static mx_kernel_library l = {MX_KERNEL_ABI, "n", "1", 1, &op, o}; l.error_text = t; return &l; }'
expect 3 "not run: no device: the device is on holiday" "$MXCHECK" kernel --vectors "$V" --kernel ./nodevice.so
library refuses 'static int r(const mx_kernel_call *c) { (void)c; return MX_KERNEL_REFUSED; }
const mx_kernel_library *mx_kernel_describe(void) { static mx_kernel_op op = {"a", "quantize", "mxfp8"};
static mx_kernel_library l = {MX_KERNEL_ABI, "n", "1", 1, &op}; op.run = r; return &l; }'
expect 3 "NOT RUN: 0 of 1 kernels passed" "$MXCHECK" kernel --vectors "$V" --kernel ./refuses.so

# A fault: findings, their reproducer, and the reports.
if [ -e "$BUILD/mutants/ties_away.so" ]; then
    expect 1 "likely cause: ties round away from zero" "$MXCHECK" kernel --vectors "$V" \
        --kernel "$BUILD/mutants/ties_away.so" --json report.json --junit report.xml --github
    grep -q '::error title=mxcheck codes' out
    command=$(sed -n 's/^ *reproduce: mxcheck //p' out | head -n 1)
    grep -q '<failure type="codes"' report.xml
    grep -q '"verdict": "FAILED' report.json
    # shellcheck disable=SC2086
    expect 1 "likely cause: ties round away from zero" "$MXCHECK" $command
    expect 2 "/nonexistent/x.json" "$MXCHECK" kernel --vectors "$V" --subject emulator --json /nonexistent/x.json
fi

# Shards are disjoint and cover everything.
cases() { "$MXCHECK" kernel --vectors "$V" --subject emulator "$@" | sed -n '1s/.*(\([0-9]*\) cases.*/\1/p'; }
[ "$(cases)" = "$(($(cases --shard 0/3) + $(cases --shard 1/3) + $(cases --shard 2/3)))" ]

# Programs.
expect 3 "the program wrote no file for it" "$MXCHECK" kernel --vectors "$V" --only mxfp4 --exec true
expect 1 "exit status 4; it printed: out of luck" "$MXCHECK" kernel --vectors "$V" --only mxfp4 \
    --exec 'sh -c "echo out of luck; exit 4" --'
expect 1 "did not end within" "$MXCHECK" kernel --vectors "$V" --only cast-e2m3-cuda --timeout 0.3 \
    --exec 'sh -c "sleep 100" --'
expect 1 "its answer cannot be read" "$MXCHECK" kernel --vectors "$V" --only cast-e2m3-cuda \
    --exec "sh -c 'for f in \"\$1\"/*; do echo junk >\"\$2/\${f##*/}\"; done' --"

# The examples.
"$CC" -O2 -shared -fPIC -I"$root/lib" -o mine.so "$root/tools/examples/kernel.c" -lm
expect 0 "PASSED: 1 of 1" "$MXCHECK" kernel --vectors "$V" --kernel ./mine.so
expect 0 "quantize-mxfp8" "$MXCHECK" kernel --list --subject cpu
python=$(numpy_python)
expect 0 "PASSED: 1 of 1" "$MXCHECK" kernel --vectors "$V" --only mxfp8 \
    --exec "$python $root/tools/examples/program.py"
if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
    PATH=$PATH:/usr/local/cuda/bin
    nvcc -std=c++17 -O2 -shared -Xcompiler -fPIC -I"$root/lib" -o cuda.so "$root/tools/examples/kernel.cu"
    status=0
    "$MXCHECK" kernel --vectors "$V" --kernel ./cuda.so >out 2>&1 || status=$?
    [ $status = 0 ] || { [ $status = 3 ] && grep -q "not run: " out; } # 3: no device here
else
    echo "NOT TESTED: tools/examples/kernel.cu, since there is no nvcc" >&2
fi
