# SPDX-License-Identifier: MIT
#
# The static core: which sources go in, and the flags that depend on a file's name or folder.
# A kernel file's suffix names its ISA; files of the other architecture are left out.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    set(QUERN_ARCH x86_64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(QUERN_ARCH aarch64)
else()
    set(QUERN_ARCH other)
endif()

set(QUERN_AVX512_FLAGS -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c)
#   suffix                 architecture and flags
set(QUERN_ISA_avx2         x86_64  -mavx2 -mfma -mf16c)
set(QUERN_ISA_avxvnni      x86_64  -mavx2 -mfma -mf16c -mavxvnni)
set(QUERN_ISA_avx512       x86_64  ${QUERN_AVX512_FLAGS})
set(QUERN_ISA_avx512vnni   x86_64  ${QUERN_AVX512_FLAGS} -mavx512vnni)
set(QUERN_ISA_avx512vbmi   x86_64  ${QUERN_AVX512_FLAGS} -mavx512vbmi)
set(QUERN_ISA_amx          x86_64  ${QUERN_AVX512_FLAGS} -mavx512vnni -mamx-tile -mamx-int8)
set(QUERN_ISA_neon         aarch64)
set(QUERN_ISA_neondot      aarch64 -march=armv8.2-a+dotprod)
set(QUERN_ISA_neoni8mm     aarch64 -march=armv8.2-a+i8mm)
set(QUERN_ISA_SUFFIXES avx2 avxvnni avx512 avx512vnni avx512vbmi amx neon neondot neoni8mm)

# gcc 12 for aarch64 crashes (vect_transform_reduction) on loops that reduce with fmax or fmin; the
# fast kernels use intrinsics and do not need its loop vectorizer.
if(QUERN_ARCH STREQUAL "aarch64" AND CMAKE_C_COMPILER_ID STREQUAL "GNU"
   AND CMAKE_C_COMPILER_VERSION VERSION_LESS 13)
    set(QUERN_NO_LOOP_VECTORIZER ON)
endif()

# quern_select_sources(out files...): drop files of another architecture, set per-file flags.
function(quern_select_sources out)
    set(kept "")
    foreach(file IN LISTS ARGN)
        set(flags "")
        if(file MATCHES "/src/(base|binary|frontend|reference)/")
            list(APPEND flags -Wconversion)
        endif()
        if(file MATCHES "/src/(kernels|reference)/" AND CMAKE_BUILD_TYPE STREQUAL "Release")
            # Neither option changes a value: they drop errno and FP-flag side effects that
            # nobody reads and that keep loops scalar.
            list(APPEND flags -O3 -fno-math-errno -fno-trapping-math)
        endif()
        if(file MATCHES "_([a-z0-9]+)\\.c$" AND CMAKE_MATCH_1 IN_LIST QUERN_ISA_SUFFIXES)
            set(isa ${QUERN_ISA_${CMAKE_MATCH_1}})
            list(POP_FRONT isa arch)
            if(NOT arch STREQUAL QUERN_ARCH)
                continue()
            endif()
            list(APPEND flags ${isa})
            if(QUERN_SANITIZE STREQUAL "address")
                # Checks of each pointer double the time that unrolled kernels take to compile, and
                # AddressSanitizer sees what a wrong one reads or writes.
                list(APPEND flags -fno-sanitize=null,pointer-overflow)
            endif()
            if(QUERN_SANITIZE STREQUAL "address" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
                # The frames that stand in for the stack there are aligned to 32 bytes, vectors
                # to 64. Kernels hand out no addresses of their own variables.
                list(APPEND flags --param=asan-use-after-return=0)
            endif()
        elseif(QUERN_NO_LOOP_VECTORIZER)
            list(APPEND flags -fno-tree-loop-vectorize)
        endif()
        if(flags)
            set_source_files_properties("${file}" PROPERTIES COMPILE_OPTIONS "${flags}")
        endif()
        list(APPEND kept "${file}")
    endforeach()
    set(${out} ${kept} PARENT_SCOPE)
endfunction()

# quern_embed(out folder suffix prefix header): a C file for each text of the folder; NAME with the
# suffix becomes the string prefix_NAME, and the header declares all of them.
function(quern_embed out folder suffix prefix header)
    file(GLOB texts CONFIGURE_DEPENDS "${folder}/*.${suffix}")
    set(made "")
    set(declared "")
    foreach(text IN LISTS texts)
        get_filename_component(name "${text}" NAME_WE)
        set(file "${CMAKE_BINARY_DIR}/embedded/${prefix}_${name}.c")
        add_custom_command(OUTPUT "${file}"
            COMMAND "${CMAKE_COMMAND}" "-DTEXT=${text}" "-DNAME=${prefix}_${name}"
                    "-DHEADER=${header}" "-DFILE=${file}"
                    -P "${CMAKE_SOURCE_DIR}/cmake/EmbedText.cmake"
            DEPENDS "${text}" "${CMAKE_SOURCE_DIR}/cmake/EmbedText.cmake" VERBATIM)
        list(APPEND made "${file}")
        string(APPEND declared "extern const char ${prefix}_${name}[];\n")
    endforeach()
    file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/embedded/${header}" CONTENT "${declared}")
    set(${out} ${made} PARENT_SCOPE)
endfunction()

# quern_core(folders...): the static library of everything under src/ that all backends share.
function(quern_core)
    set(patterns ${ARGN})
    list(TRANSFORM patterns REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/src/\\1/*.c")
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${patterns})
    quern_select_sources(sources ${files})
    quern_embed(kernels "${CMAKE_CURRENT_SOURCE_DIR}/src/bind/gpu/kernels" cl qrn_cl cl_texts.h)
    list(APPEND sources ${kernels})
    if(NOT sources)
        add_library(quern_core INTERFACE)
        return()
    endif()
    add_library(quern_core STATIC ${sources})
    target_include_directories(quern_core PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}/src"
                               PRIVATE "${CMAKE_BINARY_DIR}/embedded")
    target_compile_definitions(quern_core PRIVATE QUERN_VERSION="${PROJECT_VERSION}")
    target_link_libraries(quern_core PRIVATE quern_flags
                          PUBLIC qnn_headers Threads::Threads m ${CMAKE_DL_LIBS})
endfunction()
