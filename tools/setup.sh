#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that a group of targets needs, where they are missing: setup.sh GROUP
# Asks for sudo only when not root, and does nothing when nothing is missing.
set -eu

build="gcc g++ make pkg-config libmpfr-dev libgmp-dev libgsl-dev libjansson-dev libmd-dev librandom123-dev"
case ${1:-build} in
build) wanted=$build ;;
test) wanted="$build check libsubunit-dev python3 python3-numpy gnuplot-nox" ;;
lint) wanted="$build clang-format cppcheck shellcheck git" ;;
fuzz) wanted="$build clang libclang-rt-dev" ;;
report) wanted="gnuplot-nox" ;;
mpi) wanted="libopenmpi-dev openmpi-bin" ;;
*)
    echo "setup.sh: no group '$1': build, test, lint, fuzz, report, mpi" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "setup.sh: not a Debian system; make sure that these are installed: $wanted" >&2
    exit 0
fi

missing=
for package in $wanted; do
    state=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    [ "$state" = "install ok installed" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "setup.sh: installing$missing" >&2
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
$as_root apt-get update -qq
# shellcheck disable=SC2086  # the list is words
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
