#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every checks/cli/test_*.sh against the built command; each prints its own failures and exits non-zero.
# They see $MXCHECK, $BUILD, and a fresh empty directory $TMP as the working directory.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(cd "$root" && cd "${BUILD:-build}" && pwd)
MXCHECK=$BUILD/mxcheck
export root BUILD MXCHECK
passed=0
failed=0
for test in "$root"/checks/cli/test_*.sh; do
    TMP=$(mktemp -d)
    export TMP
    if (cd "$TMP" && sh -eu "$test" >log 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $(basename "$test")"
        tail -n 30 "$TMP/log"
    fi
    rm -rf "$TMP"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
