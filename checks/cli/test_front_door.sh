# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# The command without, with wrong, and with helpful words; every subcommand explains itself.
. "${root:?}/checks/cli/expect.sh"

expect 2 'Usage: mxcheck COMMAND' "$MXCHECK"
expect 2 "no command 'kernal'" "$MXCHECK" kernal
expect 0 'mxcheck 0.' "$MXCHECK" --version
expect 0 'mxcheck kernel --vectors vectors/' "$MXCHECK" --help
expect 2 "no table 'nothing'" "$MXCHECK" list nothing
expect 0 'e4m3fnuz' "$MXCHECK" list formats

"$MXCHECK" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' >commands
[ -s commands ]
while read -r name; do
    expect 0 'Example' "$MXCHECK" "$name" --help
    expect 2 'unrecognized option' "$MXCHECK" "$name" --no-such-option
done <commands
