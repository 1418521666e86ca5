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

# A Python that has NumPy: the one on PATH, or Debian's own, which python3-numpy belongs to.
numpy_python() {
    for candidate in python3 /usr/bin/python3; do
        if "$candidate" -c 'import numpy' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "no Python with NumPy: install python3-numpy" >&2
    return 1
}
