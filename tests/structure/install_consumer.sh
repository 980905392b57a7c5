#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# install_consumer.sh CMAKE BUILD SCRATCH CC: installs a build into SCRATCH, moves it, and builds
# and runs a small consumer through the CMake package and, if it is there, through pkg-config. The
# folder is also a QNN SDK: by quern doctor's word, and for a shell that reads its envsetup.sh.
set -euo pipefail
cmake=$1 build=$2 scratch=$3 cc=$4
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$scratch"
"$cmake" --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$scratch/moved"

"$cmake" -S "$here/consumer" -B "$scratch/by_cmake" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_PREFIX_PATH="$scratch/moved" >/dev/null
"$cmake" --build "$scratch/by_cmake" >/dev/null
"$scratch/by_cmake/consumer"

if command -v pkg-config >/dev/null; then
    pc=$(find "$scratch/moved" -name quern.pc)
    export PKG_CONFIG_PATH=${pc%/*}
    # shellcheck disable=SC2046 # the flags are words
    "$cc" $(pkg-config --cflags quern) "$here/consumer/main.c" -o "$scratch/by_pkg_config" \
        -L"$(pkg-config --variable=libdir quern)" -lQnnCpu
    LD_LIBRARY_PATH=$(pkg-config --variable=libdir quern) "$scratch/by_pkg_config"
fi

if [ -x "$scratch/moved/bin/quern" ]; then
    (
        unset LD_LIBRARY_PATH QNN_SDK_ROOT
        . "$scratch/moved/bin/envsetup.sh"
        [ "$QNN_SDK_ROOT" = "$scratch/moved" ]
        [ "$(command -v quern)" = "$scratch/moved/bin/quern" ]
        for library in libQnnCpu.so libQnnGpu.so libQnnHtp.so libQnnSystem.so; do
            [ -e "$LD_LIBRARY_PATH/$library" ]
        done
        cd "$QNN_SDK_ROOT"
        grep -q 'in the shape of a QNN SDK (API of SDK [0-9]*\.[0-9]*\.[0-9]*)$' QNN_README.txt
        for page in $(grep -o '[a-z-]*\.md' QNN_README.txt); do
            [ -s "docs/$page" ]
        done
        [ -s docs/LICENSE ] && [ -s examples/digits/digits.onnx ]
        "$cc" -Iinclude/QNN examples/hello_qnn.c -o "$scratch/hello_qnn" -ldl
        "$scratch/hello_qnn" "$LD_LIBRARY_PATH/libQnnCpu.so" >/dev/null
        grep -q '^version: [0-9]*\.[0-9]*\.[0-9]*$' "$QNN_SDK_ROOT/sdk.yaml"
        quern doctor | grep -F "ok       SDK folder       $scratch/moved (QNN_SDK_ROOT)"
    )
fi
