#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# setup.sh build|all|lint|test|clients|aarch64|bench|package: makes sure that what a build (or the
# tests) needs is there.
# Missing Debian packages are installed with apt-get when run as root, after a question on a
# terminal. QUERN_YES=1 and CI=true answer yes, QUERN_YES=0 no. Without a terminal nobody can be
# asked: what is missing is installed, and nothing else is changed. Packages that are there are not
# upgraded, unless a new one depends on it, which the question says. Without root the line to run is
# printed.
# The tests' Python packages go to build/venv, made anew only when the requirements change.
# QUERN_NO_CLIENTS=1 leaves the client packages out, QUERN_NO_TORCH=1 only ExecuTorch and torch
# (about 230 MB to fetch, 900 MB on the disk), QUERN_NO_BROWSER=1 Chromium, in which pages are
# looked at (120 MB to fetch). For cross builds, libraries for arm64 are unpacked under build/, so
# the system keeps its one architecture. The peers of the benchmarks, the cross compiler of the
# tests, the OpenCL device (PoCL) and the browser are optional: the rest goes on without them.
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
    -include stdint.h -include setjmp.h -include stdio.h - ; }

check_packages() {
    missing=()
    need gcc command -v cc
    need libc6-dev has_header stdio.h
    need cmake command -v cmake
    need ninja-build command -v ninja
    need make command -v make
    need libjansson-dev has_header jansson.h
    need libpng-dev has_header png.h
    need libjpeg-dev has_header jpeglib.h
    need zlib1g-dev has_header zlib.h
    [ "$what" = build ] && return
    if [ "$what" = package ]; then
        need python3 command -v python3
        need python3-venv python3 -c 'import ensurepip, venv'
        need gcc-aarch64-linux-gnu command -v aarch64-linux-gnu-gcc
        need qemu-user command -v qemu-aarch64
        need debian-archive-keyring test -e /usr/share/keyrings/debian-archive-keyring.gpg
        return
    fi
    need g++ command -v c++
    need libcmocka-dev has_header cmocka.h
    [ "$what" = all ] && return
    if [ "$what" = lint ]; then
        need clang-14 command -v "${CLANG:-clang-14}"
        need clang-format-14 command -v "${CLANG_FORMAT:-clang-format-14}"
        need clang-tidy-14 command -v "${CLANG_TIDY:-clang-tidy-14}"
        return
    fi
    need python3 command -v python3
    need python3-venv python3 -c 'import ensurepip, venv'
    need binutils command -v readelf
    [ "$what" = aarch64 ] || return 0
    check_cross
}
# An OpenCL device for the tests of the GPU backend: PoCL runs kernels on the CPU.
check_opencl() {
    need ocl-icd-libopencl1 sh -c 'ldconfig -p | grep -q libOpenCL.so.1'
    need pocl-opencl-icd test -e /etc/OpenCL/vendors/pocl.icd
}
has_browser() { command -v chromium || command -v chromium-browser || command -v chrome; }
check_cross() {
    need g++-aarch64-linux-gnu command -v aarch64-linux-gnu-g++
    need gcc-aarch64-linux-gnu command -v aarch64-linux-gnu-gcc
    need qemu-user command -v qemu-aarch64
}

# May packages be installed? The answer to the question, asked once.
consent=
may_install() { # may_install <package...>
    local upgrades
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    [ "${QUERN_YES:-}" = 0 ] || [ "$consent" = n ] && return 1
    [ -n "${updated:-}" ] || apt-get update -qq
    updated=1
    echo "setup: this needs Debian packages that are not installed: $*" >&2
    upgrades=$(apt-get -s install --no-upgrade --no-install-recommends "$@" |
        sed -n 's/^Inst \([^ ]*\) \[.*/\1/p' | tr '\n' ' ')
    [ -z "$upgrades" ] || echo "setup: they also upgrade: $upgrades" >&2
    [ "${QUERN_YES:-}" = 1 ] || [ "${CI:-}" = true ] || [ "$consent" = y ] && return
    [ -t 0 ] && [ -t 2 ] || { echo "setup: no terminal to ask on: installing" >&2; return 0; }
    read -r -p "setup: install them with apt-get? [Y/n] " consent
    case $consent in '' | [Yy]*) consent=y ;; *) consent=n && return 1 ;; esac
}
# Installs what is missing; false: it could not, or must not.
try_install() {
    [ ${#missing[@]} -eq 0 ] || { may_install "${missing[@]}" &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-upgrade \
            --no-install-recommends "${missing[@]}" >/dev/null; }
}

# An apt state of its own, for one architecture; needs no root.
fetch_arm64() { # fetch_arm64 <root> <package...>
    local root=$PWD/$1
    shift
    mkdir -p "$root"/state/lists/partial "$root"/cache/archives/partial
    touch "$root/state/status"
    local apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64
        -o "Dir::State=$root/state" -o "Dir::State::status=$root/state/status"
        -o "Dir::Cache=$root/cache" -o APT::Sandbox::User=)
    "${apt[@]}" update
    (cd "$root" && "${apt[@]}" download "$@")
    local file
    for file in "$root"/*.deb; do dpkg-deb -x "$file" "$root"; done
}

check_packages
if try_install && [ ${#missing[@]} -gt 0 ]; then
    check_packages
fi
if [ ${#missing[@]} -gt 0 ]; then
    echo "setup: missing packages; please run:" >&2
    echo "  sudo apt-get install -y --no-upgrade ${missing[*]}" >&2
    exit 1
fi
case $what in build | all | lint | package) exit 0 ;; esac
if [ "$what" = bench ]; then
    missing=()
    need libdnnl-dev has_header oneapi/dnnl/dnnl.h
    need libopenblas-dev has_header cblas.h
    try_install || echo "setup: peers that will not be measured: ${missing[*]}" >&2
fi
if [ "$what" = clients ]; then
    missing=()
    check_opencl
    try_install || echo "setup: clients will not be tested on the GPU: ${missing[*]}" >&2
fi
if [ "$what" = test ]; then
    missing=()
    check_cross
    try_install || echo "setup: the kernels for 64-bit ARM will not be tested: ${missing[*]}" >&2
    missing=()
    check_opencl
    try_install || echo "setup: the GPU backend will not be tested: ${missing[*]}" >&2
    missing=()
    [ "${QUERN_NO_BROWSER:-0}" = 1 ] || need chromium has_browser
    try_install || echo "setup: pages will not be tested in a browser: ${missing[*]}" >&2
fi
if [ "$what" = aarch64 ] && ! ls build/aarch64-root/usr/lib/*/libcmocka.so >/dev/null 2>&1; then
    fetch_arm64 build/aarch64-root libcmocka0 libcmocka-dev
fi

# The stamp names everything the venv was made from.
venv=build/venv
files=(tests/requirements.txt)
clients=tests/clients/requirements.txt
[ "${QUERN_NO_CLIENTS:-0}" = 1 ] || files+=("$clients")
pip=("$venv/bin/python3" -m pip --disable-pip-version-check install --quiet --prefer-binary)

# ExecuTorch for the tests of its wheel: the CPU build of torch first, which comes from an index of
# its own, then packages without their dependencies, which would bring a gigabyte that is not used.
executorch=tests/clients/executorch.txt
torch=torch==2.13.0+cpu
torch_index=https://download.pytorch.org/whl/cpu
add_executorch() {
    local stamp
    stamp="$torch $(cat "$executorch")"
    { [ "${QUERN_NO_CLIENTS:-0}" = 1 ] || [ "${QUERN_NO_TORCH:-0}" = 1 ]; } && return 0
    { [ "$what" = test ] || [ "$what" = clients ]; } || return 0
    [ "$(uname -m)" = x86_64 ] || return 0
    [ "$(cat "$venv/.executorch" 2>/dev/null)" = "$stamp" ] && return 0
    echo "setup: adding torch and executorch to $venv"
    rm -f "$venv/.executorch"
    if "${pip[@]}" --no-deps --no-compile --retries 2 --index-url "$torch_index" "$torch" &&
        "${pip[@]}" --no-deps --no-compile -r "$executorch"; then
        printf '%s' "$stamp" >"$venv/.executorch"
        return 0
    fi
    echo "setup: executorch could not be installed; its tests will be skipped" >&2
    [ "$what" != clients ]
}

# Olive in a folder of its own, build/olive: it needs an older onnxruntime-genai than the tests.
olive=tests/clients/olive.txt
add_olive() {
    [ "$what" = clients ] && [ -e "$venv/.executorch" ] || return 0
    [ "$(cat build/olive/.stamp 2>/dev/null)" = "$(cat "$olive")" ] && return 0
    echo "setup: adding olive-ai to build/olive"
    rm -rf build/olive
    if "${pip[@]}" --no-deps --no-compile --target build/olive -r "$olive"; then
        cp "$olive" build/olive/.stamp
        return 0
    fi
    echo "setup: olive-ai could not be installed; its recipes will be skipped" >&2
}

# OpenVINO, a peer of the benchmarks; they do without it.
add_openvino() {
    [ "$what" = bench ] || return 0
    "$venv/bin/python3" -c 'import openvino' 2>/dev/null && return 0
    echo "setup: adding openvino to $venv"
    "${pip[@]}" openvino || echo "setup: peers that will not be measured: openvino" >&2
}

stamp=$(python3 -VV; cat "${files[@]}")
if [ -x "$venv/bin/python3" ] && [ "$(cat "$venv/.stamp" 2>/dev/null)" = "$stamp" ]; then
    add_executorch
    add_olive
    add_openvino
    exit
fi
echo "setup: making $venv"
rm -rf "$venv"
python3 -m venv "$venv"
"${pip[@]}" -r tests/requirements.txt
if [ ${#files[@]} -gt 1 ] && ! "${pip[@]}" -r "$clients"; then
    # Without the stamp the next run tries again.
    echo "setup: the client packages could not be installed; their tests will be skipped" >&2
    [ "$what" = clients ] && exit 1
    exit 0
fi
printf '%s' "$stamp" >"$venv/.stamp"
add_executorch
add_olive
add_openvino
