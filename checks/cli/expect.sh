# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# expect STATUS TEXT COMMAND...: the command exits with STATUS and prints TEXT somewhere.
expect() {
    want=$1
    text=$2
    shift 2
    status=0
    "$@" >out 2>&1 || status=$?
    if [ "$status" != "$want" ] || ! grep -qF -- "$text" out; then
        echo "$*: exit $status, wanted $want and the text: $text"
        cat out
        exit 1
    fi
}
