# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# identify: products recorded on an H200 are explained from their bits alone.
. "${root:?}/checks/cli/expect.sh"
seen=$root/vectors/seen

expect 0 'sm90-wgmma-fp8-f32, promote:4 (confirmed on an H200): 1024 of 1024 outputs' \
    "$MXCHECK" identify "$seen/cublaslt-h200.safetensors" --only e4m3-fast0-f32-64x64x512
expect 0 'sm90-f16-f32, split:3x128' "$MXCHECK" identify "$seen/cublaslt-h200.safetensors" --only bf16-f32-128x128x4096
expect 0 'promote-ffma:4,scale-a-b' \
    "$MXCHECK" identify "$seen/products-fp8-h200.safetensors" --only block-1x128-1x128-fast0-f32
expect 1 'nearest: ' "$MXCHECK" identify "$seen/products-half-h200.safetensors" --only mm-bf16-17x33x257-f32
expect 3 '0 of 0 products' "$MXCHECK" identify "$seen/cublaslt-h200.safetensors" --only no-such-case
expect 2 'identify' "$MXCHECK" identify missing.safetensors
