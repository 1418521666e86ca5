# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Training: threads and resumption change no bit; faults are seen; mistakes are told.
. "${root:?}/checks/cli/expect.sh"
small='--steps 12 --seeds 2 --scheme-seeds 1 --dim 32 --hidden 32 --batch 4 --layers 1'

# shellcheck disable=SC2086  # the options are words
{
    expect 0 'train: PASS: 2 of 2' "$MXCHECK" train $small --recipe mxfp8 --json once.json
    grep -q '"mxcheck": "train"' once.json
    expect 0 'PASS' "$MXCHECK" train $small --recipe mxfp8 --threads 1 --json single.json
    cmp once.json single.json
    expect 0 'stopped after step 5 of 12' "$MXCHECK" train $small --recipe mxfp8 --until 5 --checkpoint c.safetensors
    expect 0 'PASS' "$MXCHECK" train $small --recipe mxfp8 --resume --checkpoint c.safetensors --json resumed.json
    cmp once.json resumed.json
    expect 2 'a checkpoint of another training' "$MXCHECK" train $small --recipe mxfp4 --resume --checkpoint c.safetensors
    expect 1 'magnitude fault: 0.1' "$MXCHECK" train $small --recipe mxfp8@gradients-scaled
    expect 1 "'dropped-micro-batch'" "$MXCHECK" train $small --recipe mxfp8@dropped-micro-batch
    expect 0 'sm100-mxf8f6f4' "$MXCHECK" train $small --recipe mxfp8 --model sm100-mxf8f6f4
    expect 3 'does not take' "$MXCHECK" train $small --recipe mxfp8 --model sm90-f16-f32
    if [ -e "$BUILD/mutants/control_product.so" ] && [ -e "$BUILD/mutants/expert_off.so" ]; then
        tiny="$small --steps 2 --recipe mxfp8"
        expect 0 'PASS' "$MXCHECK" train $tiny --kernel "$BUILD/mutants/control_product.so"
        expect 1 'gradient of' "$MXCHECK" train $tiny --kernel "$BUILD/mutants/expert_off.so"
    else
        echo 'kernels: not run: make mutants builds them'
    fi
}
printf 'a short text' >short.txt
expect 2 'too short' "$MXCHECK" train --text short.txt
expect 2 'missing.txt' "$MXCHECK" train --text missing.txt
expect 2 'no such recipe' "$MXCHECK" train --recipe mxfp9
expect 2 'no model' "$MXCHECK" train --model abacus
expect 2 'must divide' "$MXCHECK" train --micro 3
expect 2 '--checkpoint is missing' "$MXCHECK" train --until 3
expect 2 'more than --seeds' "$MXCHECK" train --scheme-seeds 5
