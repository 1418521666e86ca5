# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# The committed vectors are what `generate` makes, byte for byte.
. "${root:?}/checks/cli/expect.sh"

expect 0 'cases in' "$MXCHECK" generate --out made
for file in made/*; do cmp "$file" "$root/vectors/$(basename "$file")"; done
expect 2 'DIR is missing' "$MXCHECK" generate
expect 2 'unexpected argument' "$MXCHECK" generate --out x y
expect 2 'mxcheck generate:' "$MXCHECK" generate --out /proc/nowhere
