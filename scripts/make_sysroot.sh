#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# make_sysroot.sh ARCH...: build/sysroot/ARCH (x86_64, aarch64) for portable builds. The C library
# is that of Debian 11 (glibc 2.31; cmake/glibc_2_28.h makes it 2.28), the archives of jansson,
# libpng, libjpeg and zlib are those of Debian 12, which is still maintained. apt-get verifies the
# packages by Debian's keys; it needs no root, and nothing of the system is changed.
set -euo pipefail
cd "$(dirname "$0")/.."
keys=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=${QUERN_DEBIAN_MIRROR:-http://deb.debian.org/debian}

fetch() { # fetch <folder> <Debian architecture> <release> <package...>
    local root=$1 arch=$2 release=$3
    shift 3
    mkdir -p "$root"/apt/lists/partial "$root"/apt/archives/partial "$root"/debs
    : >"$root/apt/status"
    echo "deb [signed-by=$keys] $mirror $release main" >"$root/apt/sources.list"
    local apt=(apt-get -qq -o "APT::Architecture=$arch" -o "APT::Architectures=$arch"
        -o "Dir::State=$root/apt" -o "Dir::State::status=$root/apt/status"
        -o "Dir::Cache=$root/apt" -o "Dir::Etc::sourcelist=$root/apt/sources.list"
        -o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User=)
    "${apt[@]}" update
    (cd "$root/debs" && "${apt[@]}" download "$@")
}

for cpu in "$@"; do
    case $cpu in
    x86_64) arch=amd64 first=GLIBC_2.2.5 ;;
    aarch64) arch=arm64 first=GLIBC_2.17 ;;
    *) echo "make_sysroot: no architecture '$cpu'; expected x86_64 or aarch64" >&2 && exit 2 ;;
    esac
    done=build/sysroot/$cpu
    [ -e "$done/complete" ] && continue
    [ -e "$keys" ] || { echo "make_sysroot: $keys is missing: a wheel for glibc 2.28 is made on" \
        "Debian or Ubuntu with the package debian-archive-keyring" >&2; exit 1; }
    echo "make_sysroot: fetching Debian packages into $done"
    rm -rf "$done"
    root=$PWD/$done
    fetch "$root" "$arch" bullseye libc6 libc6-dev linux-libc-dev
    fetch "$root" "$arch" bookworm libjansson-dev libpng-dev libjpeg62-turbo-dev zlib1g-dev
    for file in "$root"/debs/*.deb; do dpkg-deb -x "$file" "$root"; done
    rm -rf "$root"/apt "$root"/debs "$root"/usr/share
    find "$root" -type l -lname '/*' | while read -r link; do # into the sysroot, not the system
        ln -sfn "$root$(readlink "$link")" "$link"
    done
    older=() # what cmake/glibc_2_28.h does, for archives
    for f in exp exp2 log log2 pow; do older+=("--redefine-sym=$f=$f@$first"); done
    for file in png16 jpeg z jansson; do
        "$cpu-linux-gnu-objcopy" "${older[@]}" "$root/usr/lib/$cpu-linux-gnu/lib$file.a"
    done
    touch "$root/complete"
done
