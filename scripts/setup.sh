#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# setup.sh build|test|clients: makes sure that what a build (or the tests) needs is there.
# Debian packages are installed when run as root and only when something is missing; otherwise the
# line to run is printed. The tests' Python packages go to build/venv, made anew only when the
# requirements change. QUERN_NO_CLIENTS=1 leaves the client packages out.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-build}

missing=()
need() { # need <package> <command...>: the package is missing if the command fails
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
}
has_header() { echo "#include <$1>" | cc -E -x c -include stdarg.h -include stddef.h \
    -include stdint.h -include setjmp.h - ; }

check_packages() {
    missing=()
    need gcc command -v cc
    need libc6-dev has_header stdio.h
    need cmake command -v cmake
    need ninja-build command -v ninja
    need make command -v make
    need g++ command -v c++
    need libcmocka-dev has_header cmocka.h
    [ "$what" = build ] && return
    need python3 command -v python3
    need python3-venv python3 -c 'import ensurepip, venv'
    need binutils command -v readelf
}

check_packages
if [ ${#missing[@]} -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            "${missing[@]}"
        check_packages
    fi
    if [ ${#missing[@]} -gt 0 ]; then
        echo "setup: missing packages; please run:" >&2
        echo "  sudo apt-get install -y ${missing[*]}" >&2
        exit 1
    fi
fi
[ "$what" = build ] && exit 0

# The stamp names everything the venv was made from.
venv=build/venv
files=(tests/requirements.txt)
clients=tests/clients/requirements.txt
[ "${QUERN_NO_CLIENTS:-0}" = 1 ] || files+=("$clients")
stamp=$(python3 -VV; cat "${files[@]}")
if [ -x "$venv/bin/python3" ] && [ "$(cat "$venv/.stamp" 2>/dev/null)" = "$stamp" ]; then
    exit 0
fi
echo "setup: making $venv"
rm -rf "$venv"
python3 -m venv "$venv"
pip=("$venv/bin/python3" -m pip --disable-pip-version-check install --quiet --prefer-binary)
"${pip[@]}" -r tests/requirements.txt
if [ ${#files[@]} -gt 1 ] && ! "${pip[@]}" -r "$clients"; then
    # Without the stamp the next run tries again.
    echo "setup: the client packages could not be installed; their tests will be skipped" >&2
    [ "$what" = clients ] && exit 1
    exit 0
fi
printf '%s' "$stamp" >"$venv/.stamp"
