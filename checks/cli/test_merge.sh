# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Parts of a kernel's run make a whole, and a whole only when all are there.
. "${root:?}/checks/cli/expect.sh"
V=$root/vectors

"$MXCHECK" kernel --vectors "$V" --subject cpu --json whole.json | head -n 1 >whole.txt
for part in 0 1 2; do
    expect 0 "PART $part of 3" "$MXCHECK" kernel --vectors "$V" --subject cpu --shard $part/3 --json $part.json
done
expect 0 'PASSED: 1 of 1' "$MXCHECK" report --merge 1.json 2.json 0.json --json merged.json
passed=$(sed -n 's/.* \([0-9]*\) checks passed.*/\1/p' whole.txt)
grep -q " $passed checks passed" out
expect 2 '2 of 3 parts are there' "$MXCHECK" report --merge 0.json 2.json
expect 2 'is there already' "$MXCHECK" report --merge 0.json 0.json
expect 2 'a part of another run' "$MXCHECK" report --merge 0.json whole.json
expect 0 'PASSED' "$MXCHECK" prove --operation cast --shard 0/2 --json p0.json
expect 0 'PASSED' "$MXCHECK" report p0.json
