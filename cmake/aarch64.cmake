# SPDX-License-Identifier: MIT
#
# Cross build for 64-bit ARM Linux with Debian's compilers; tests run under qemu-user if present.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
# Where scripts/setup.sh unpacks what the tests need.
list(APPEND CMAKE_PREFIX_PATH "${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-root/usr")

find_program(QUERN_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
if(QUERN_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR "${QUERN_QEMU};-L;/usr/aarch64-linux-gnu")
endif()
