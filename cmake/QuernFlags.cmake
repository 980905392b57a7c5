# SPDX-License-Identifier: MIT
#
# Compiler settings shared by every target: language level, warnings, sanitizers, output folders.
# `quern_flags` is linked PRIVATE by everything of ours; nothing here reaches an installed target.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 12)
    message(WARNING "gcc ${CMAKE_C_COMPILER_VERSION}: Quern is tested with gcc 12 and newer")
elseif(CMAKE_C_COMPILER_ID STREQUAL "Clang" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 14)
    message(WARNING "clang ${CMAKE_C_COMPILER_VERSION}: Quern is tested with clang 14 and newer")
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_DEBUG "-Og -g")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g")

set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/archive")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

if(QUERN_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
    find_program(QUERN_CCACHE_PROGRAM ccache)
    if(QUERN_CCACHE_PROGRAM)
        set(CMAKE_C_COMPILER_LAUNCHER "${QUERN_CCACHE_PROGRAM}")
        set(CMAKE_CXX_COMPILER_LAUNCHER "${QUERN_CCACHE_PROGRAM}")
    endif()
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

add_library(quern_flags INTERFACE)
target_compile_definitions(quern_flags INTERFACE _GNU_SOURCE)
# The entry points are the only visible symbols; each library's export list picks its own.
foreach(macro IN ITEMS QNN_INTERFACE QNN_SYSTEM_INTERFACE QNN_SAVER_API)
    target_compile_definitions(quern_flags INTERFACE
        "${macro}=__attribute__((visibility(\"default\")))")
endforeach()
# Contraction would make results depend on the ISA a file is compiled for; kernels that want a
# fused multiply-add say so.
target_compile_options(quern_flags INTERFACE -ffp-contract=off)
target_compile_options(quern_flags INTERFACE
    -Wall -Wextra -Wshadow -Wvla -Wpointer-arith -Wundef
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)
# Loops that clang does not vectorize although a pragma asks for it are slower, not wrong.
target_compile_options(quern_flags INTERFACE $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)
if(QUERN_WERROR)
    target_compile_options(quern_flags INTERFACE -Werror)
endif()

# Hardening, for libraries and programs; scripts/check_hardening.py checks what was built.
# Sanitizers check more and do not go together with _FORTIFY_SOURCE.
if(QUERN_HARDEN AND NOT QUERN_SANITIZE)
    include(CheckCCompilerFlag)
    include(CheckPIESupported)
    check_pie_supported(LANGUAGES C)
    foreach(flag IN ITEMS -fstack-protector-strong -fstack-clash-protection -fcf-protection)
        string(MAKE_C_IDENTIFIER "QUERN_HAS${flag}" known)
        check_c_compiler_flag(${flag} ${known}) # not every architecture has all of them
        if(${known})
            target_compile_options(quern_flags INTERFACE ${flag})
        endif()
    endforeach()
    target_compile_options(quern_flags INTERFACE
        $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
    target_link_options(quern_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()

if(QUERN_SANITIZE STREQUAL "address")
    set(QUERN_SANITIZE_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(QUERN_SANITIZE STREQUAL "thread")
    set(QUERN_SANITIZE_FLAGS -fsanitize=thread)
elseif(QUERN_SANITIZE)
    message(FATAL_ERROR "QUERN_SANITIZE is '${QUERN_SANITIZE}': expected empty, address or thread")
endif()
if(QUERN_SANITIZE)
    # For the whole tree, not only quern_flags: a program that opens a sanitized library must
    # itself be sanitized.
    add_compile_options(${QUERN_SANITIZE_FLAGS} -fno-omit-frame-pointer)
    add_link_options(${QUERN_SANITIZE_FLAGS})
endif()

if(QUERN_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "QUERN_FUZZ needs clang: configure with CC=clang")
    endif()
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
