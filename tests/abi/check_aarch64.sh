#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: check_aarch64.sh SOURCE_DIR GENERATED_DIR INCLUDE_DIR
# Compiles the ABI checks for 64-bit ARM (which proves the static ones) and runs them under
# qemu-aarch64 where it is installed. Without a cross compiler the test counts as skipped (77).
source=$1 generated=$2 include=$3
cc=${QUERN_AARCH64_CC:-aarch64-linux-gnu-gcc}
command -v "$cc" >/dev/null || { echo "abi: no $cc: skipped"; exit 77; }
set -e
# shellcheck disable=SC2086
"$cc" -std=c11 -Wall -Wextra -Werror -pedantic -static -I"$generated" -I"$source" \
    -I"$include/QNN" -I"$include" "$generated"/*.c "$source/main.c" -o "$generated/abi_aarch64"
if command -v qemu-aarch64 >/dev/null; then
    qemu-aarch64 "$generated/abi_aarch64"
else
    echo "abi: compiled for aarch64, not run: no qemu-aarch64"
fi
