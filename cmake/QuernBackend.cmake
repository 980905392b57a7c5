# SPDX-License-Identifier: MIT
#
# The shared libraries: each exports exactly the named symbols and needs only the C library's own
# parts.

# quern_exports(target symbols...): an exported function may live in the core: it is pulled in by
# name.
function(quern_exports target)
    list(JOIN ARGN "; " symbols)
    set(map "${CMAKE_BINARY_DIR}/exports/${target}.map")
    file(CONFIGURE OUTPUT "${map}" CONTENT "{ global: ${symbols}; local: *; };\n")
    set(pulled ${ARGN})
    list(TRANSFORM pulled PREPEND "-Wl,--undefined=")
    target_link_options(${target} PRIVATE
        ${pulled} "-Wl,--version-script=${map}" -Wl,-Bsymbolic -Wl,--as-needed)
    if(NOT QUERN_SANITIZE)
        # Sanitizer runtimes are resolved from the program.
        target_link_options(${target} PRIVATE -Wl,--no-undefined)
    endif()
    set_target_properties(${target} PROPERTIES LINK_DEPENDS "${map}" LINKER_LANGUAGE C)
    set_property(GLOBAL APPEND PROPERTY QUERN_LIBRARIES ${target})
    set_property(GLOBAL PROPERTY QUERN_EXPORTS_${target} ${ARGN})
endfunction()

# quern_backend(target folder exports...): lib<target>.so from the sources of one folder and the
# static core. Without a backend.c or interface.c in the folder there is no target;
# `if(TARGET QnnHtp)` tells.
function(quern_backend target folder)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.c")
    quern_select_sources(sources ${files})
    if(NOT sources MATCHES "/(backend|interface)\\.c")
        return()
    endif()

    # An object library, so that C tests can link the same objects statically.
    add_library(${target}_objects OBJECT ${sources})
    target_compile_definitions(${target}_objects PRIVATE QUERN_VERSION="${PROJECT_VERSION}")
    target_link_libraries(${target}_objects PRIVATE quern_flags PUBLIC quern_core)

    add_library(${target} SHARED $<TARGET_OBJECTS:${target}_objects>)
    target_link_libraries(${target} PRIVATE quern_core)
    quern_exports(${target} ${ARGN})
endfunction()

# quern_library(target folder exports...): the same without the core.
function(quern_library target folder)
    file(GLOB files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.c")
    add_library(${target} SHARED ${files})
    target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/src")
    target_link_libraries(${target} PRIVATE quern_flags Threads::Threads)
    quern_exports(${target} ${ARGN})
endfunction()
