# SPDX-License-Identifier: MIT
#
# The two kinds of C test programs, both cmocka programs run by ctest.
#
#   quern_test(name sources... [NO_BACKEND] [LABELS ...] [ARGS ...])
#       Linked with the static core and the CPU backend's objects: may call internals as well as
#       QnnInterface_getProviders. NO_BACKEND leaves the objects out, for a test that defines
#       qrn_this_backend itself.
#   quern_htp_test(name sources... [LABELS ...] [ARGS ...])
#       The same with the HTP backend's objects.
#   quern_gpu_test(name sources... [LABELS ...] [ARGS ...])
#       The same with the GPU backend's objects. Such tests share one cache of built programs.
#   quern_system_test(name sources... [LABELS ...] [ARGS ...])
#       The same with the System library's objects.
#   quern_client_test(name sources... [LABELS ...] [ARGS ...])
#       Sees only the public headers and opens the libraries from $QUERN_LIB_DIR.
#
# FLOAT16: the test's oracle is the compiler's own _Float16; clang has it on x86-64 from version 15
# on, and without it the test is left out.
#
# Labels with a meaning for `make test`: `tsan` (also run under ThreadSanitizer; a TSan tree holds
# nothing else) and `release` (also run on the optimised build).
find_path(CMOCKA_INCLUDE_DIR cmocka.h)
find_library(CMOCKA_LIBRARY cmocka)
if(CMOCKA_INCLUDE_DIR AND CMOCKA_LIBRARY)
    add_library(cmocka_lib INTERFACE)
    target_include_directories(cmocka_lib SYSTEM INTERFACE "${CMOCKA_INCLUDE_DIR}")
    target_link_libraries(cmocka_lib INTERFACE "${CMOCKA_LIBRARY}")
elseif(CMAKE_CROSSCOMPILING)
    message(STATUS "cmocka for ${CMAKE_SYSTEM_PROCESSOR} not found: C tests are left out")
else()
    message(FATAL_ERROR "cmocka not found: install libcmocka-dev or configure -DQUERN_TESTS=OFF")
endif()

include(CheckCSourceCompiles)
check_c_source_compiles("int main(void) { _Float16 h = 1; return (int)h - 1; }" QUERN_HAS_FLOAT16)
if(NOT QUERN_HAS_FLOAT16)
    message(STATUS "The compiler has no _Float16: tests that compare with it are left out")
endif()

set(QUERN_TEST_ENV
    "QUERN_LIB_DIR=${CMAKE_LIBRARY_OUTPUT_DIRECTORY}"
    "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1")

macro(quern_test_program)
    cmake_parse_arguments(arg "NO_BACKEND;FLOAT16" "" "LABELS;ARGS" ${ARGN})
    if(NOT TARGET cmocka_lib OR (arg_FLOAT16 AND NOT QUERN_HAS_FLOAT16)
       OR (QUERN_SANITIZE STREQUAL "thread" AND NOT "tsan" IN_LIST arg_LABELS))
        return()
    endif()
    add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
    target_link_libraries(${name} PRIVATE quern_flags cmocka_lib)
    if(CMAKE_CROSSCOMPILING) # runs under qemu-user, whose own memory and threads show
        target_compile_definitions(${name} PRIVATE QUERN_EMULATED)
    endif()
    add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
    set_tests_properties(${name} PROPERTIES
        LABELS "${arg_LABELS}" ENVIRONMENT "${QUERN_TEST_ENV}" TIMEOUT 300 SKIP_RETURN_CODE 77)
endmacro()

function(quern_test name)
    quern_test_program(${ARGN})
    if(TARGET QnnCpu_objects AND NOT arg_NO_BACKEND)
        target_link_libraries(${name} PRIVATE QnnCpu_objects)
    endif()
    target_link_libraries(${name} PRIVATE quern_core qnn_headers m)
endfunction()

function(quern_htp_test name)
    quern_test_program(${ARGN})
    target_link_libraries(${name} PRIVATE QnnHtp_objects quern_core qnn_headers m)
endfunction()

# Built programs are shared by all trees: building them takes minutes.
# PoCL and the LLVM inside of it keep memory until the process ends, so leaks are not looked for:
# the tests count our own allocations (qrn_alloc_live) and OpenCL objects instead.
set(QUERN_GPU_TEST_ENV
    "QUERN_GPU_CACHE=${CMAKE_SOURCE_DIR}/build/gpu_cache"
    "POCL_CACHE_DIR=${CMAKE_SOURCE_DIR}/build/pocl_cache"
    "ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1:strict_string_checks=1")

function(quern_gpu_test name)
    quern_test_program(${ARGN})
    target_link_libraries(${name} PRIVATE QnnGpu_objects quern_core qnn_headers m)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "${QUERN_GPU_TEST_ENV}")
endfunction()

function(quern_system_test name)
    quern_test_program(${ARGN})
    target_link_libraries(${name} PRIVATE QnnSystem_objects quern_core qnn_headers m)
endfunction()

function(quern_client_test name)
    quern_test_program(${ARGN})
    target_link_libraries(${name} PRIVATE qnn_headers m Threads::Threads ${CMAKE_DL_LIBS})
    get_property(libraries GLOBAL PROPERTY QUERN_LIBRARIES)
    if(libraries)
        add_dependencies(${name} ${libraries})
    endif()
endfunction()
