# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Gradients: right recipes pass, planted faults fail by name, mistakes are told.
. "${root:?}/checks/cli/expect.sh"
small='--tokens 128 --dim 64 --hidden 64 --experts 4'

# shellcheck disable=SC2086  # the options are words
{
    expect 0 'gradient: PASS: 3 of 3' "$MXCHECK" gradient $small --recipe mxfp8,nvfp4 --format e5m2 --json a.json
    grep -q '"mxcheck": "gradient"' a.json
    expect 0 'PASS' "$MXCHECK" gradient $small --recipe mxfp8,nvfp4 --format e5m2 --threads 1 --json b.json
    cmp a.json b.json
    expect 1 'magnitude fault: 0.12' "$MXCHECK" gradient $small --recipe mxfp8@gradients-scaled
    expect 1 "results of 'wgrad-rowwise'" "$MXCHECK" gradient $small --recipe mxfp8@wgrad-rowwise
    expect 0 'PASS' "$MXCHECK" gradient $small --recipe mxfp8 --model sm100-mxf8f6f4
    expect 3 'not run: ' "$MXCHECK" gradient $small --recipe mxfp8 --model sm90-f16-f32
    if [ -e "$BUILD/mutants/control_product.so" ] && [ -e "$BUILD/mutants/expert_scales_off.so" ]; then
        expect 0 'PASS: 1 of 1' "$MXCHECK" gradient $small --kernel "$BUILD/mutants/control_product.so"
        expect 1 'times what the format' "$MXCHECK" gradient $small --kernel "$BUILD/mutants/expert_scales_off.so"
        expect 3 'blocks along a row' "$MXCHECK" gradient $small --kernel "$BUILD/mutants/control_product.so" --recipe nvfp4
    else
        echo 'kernels: not run: make mutants builds them'
    fi
}
expect 2 'no.so' "$MXCHECK" gradient --kernel no.so
expect 2 'who multiplies' "$MXCHECK" gradient --kernel no.so --model exact
expect 2 'no such recipe' "$MXCHECK" gradient --recipe mxfp9
expect 2 'no such variant' "$MXCHECK" gradient --recipe mxfp8@sideways
expect 2 'no model' "$MXCHECK" gradient --model abacus
expect 2 'no such distribution' "$MXCHECK" gradient --x-data flat
expect 2 'a number from' "$MXCHECK" gradient --tokens 0
expect 2 'of 2 experts' "$MXCHECK" gradient --experts 2 --top 3
