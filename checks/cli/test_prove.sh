# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Exhausting a quantiser: the bundled kernel passes, a mutant does not, and parts are told as parts.
. "${root:?}/checks/cli/expect.sh"

expect 0 'PASSED: 1 of 1' "$MXCHECK" prove --recipe mxfp8
expect 0 '65536 patterns' "$MXCHECK" prove --operation cast --recipe cast-e4m3-rne-sat
expect 0 'of which this shard' "$MXCHECK" prove --operation cast --recipe cast-e4m3-rne-sat --inputs f32 --shard 5/64
expect 2 'no operation to exhaust' "$MXCHECK" prove --recipe nvfp4-te
expect 2 '0 <= I < N' "$MXCHECK" prove --shard 2/2
expect 2 'time limit' "$MXCHECK" prove --timeout never
expect 2 'missing.so' "$MXCHECK" prove --kernel ./missing.so
