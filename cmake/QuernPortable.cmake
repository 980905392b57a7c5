# SPDX-License-Identifier: MIT
#
# Toolchain of portable builds: Debian's gcc against the C library of a sysroot that
# scripts/make_sysroot.sh makes, so that what it builds runs on glibc 2.28 and newer. The including
# file has set CMAKE_SYSTEM_PROCESSOR.
set(CMAKE_SYSTEM_NAME Linux)
set(triple "${CMAKE_SYSTEM_PROCESSOR}-linux-gnu")
get_filename_component(CMAKE_SYSROOT
    "${CMAKE_CURRENT_LIST_DIR}/../build/sysroot/${CMAKE_SYSTEM_PROCESSOR}" ABSOLUTE)
set(CMAKE_C_COMPILER "${triple}-gcc")
set(CMAKE_LIBRARY_ARCHITECTURE "${triple}")
set(CMAKE_FIND_ROOT_PATH "${CMAKE_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind IN ITEMS LIBRARY INCLUDE PACKAGE)
    set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
get_filename_component(versions "${CMAKE_CURRENT_LIST_DIR}/glibc_2_28.h" ABSOLUTE)
# gcc looks for the C library beside itself before it looks into a sysroot.
set(beside "${CMAKE_SYSROOT}/usr/lib/${triple}")
set(CMAKE_C_FLAGS_INIT "-include ${versions}")
foreach(kind IN ITEMS EXE SHARED MODULE)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT "-B${beside}/ -L${beside} -L${CMAKE_SYSROOT}/lib/${triple}")
endforeach()
