# SPDX-License-Identifier: MIT
#
# The folder shape that QNN clients and their build scripts expect behind QNN_SDK_ROOT: libraries
# and programs under the name of the target, sdk.yaml, envsetup.sh, QNN_README.txt, docs, examples.
# Links into what is installed anyway, relative, so that the tree can be moved.
if(QUERN_ARCH STREQUAL "x86_64")
    set(QUERN_SDK_TARGETS x86_64-linux-clang)
else()
    set(QUERN_SDK_TARGETS aarch64-oe-linux-gcc11.2 aarch64-ubuntu-gcc9.4) # clients differ
endif()

# quern_sdk_link(folder from file): lib/<target>/file or bin/<target>/file -> from/file.
function(quern_sdk_link folder from file)
    foreach(target IN LISTS QUERN_SDK_TARGETS)
        file(RELATIVE_PATH goal "/${folder}/${target}" "/${from}/${file}")
        install(CODE "
            set(dir \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}/${target}\")
            file(MAKE_DIRECTORY \"\${dir}\")
            file(CREATE_LINK \"${goal}\" \"\${dir}/${file}\" SYMBOLIC)")
    endforeach()
endfunction()

foreach(library IN LISTS libraries)
    quern_sdk_link(lib "${CMAKE_INSTALL_LIBDIR}" "lib${library}.so")
endforeach()
get_property(sdk_programs GLOBAL PROPERTY QUERN_SDK_PROGRAMS)
foreach(program IN ITEMS quern qairt-dlc-info qairt-dlc-diff qairt-dlc-to-json
        qnn_executor_runner qnn-profile-viewer
        qnn-op-package-generator qnn-model-lib-generator ${sdk_programs})
    if(TARGET ${program})
        quern_sdk_link(bin "${CMAKE_INSTALL_BINDIR}" "${program}")
    endif()
endforeach()

# The version is that of the build id, by which clients choose what they ask for.
file(STRINGS include/QNN/QnnSdkBuildId.h id REGEX "define QNN_SDK_BUILD_ID ")
string(REGEX REPLACE ".*\"v([0-9]+\\.[0-9]+\\.[0-9]+)[^\"]*\".*" "\\1" QUERN_SDK_VERSION "${id}")
list(GET QUERN_SDK_TARGETS 0 QUERN_SDK_TARGET)
configure_file(cmake/sdk.yaml.in "${CMAKE_BINARY_DIR}/sdk.yaml" @ONLY)
configure_file(cmake/envsetup.sh.in "${CMAKE_BINARY_DIR}/envsetup.sh" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/sdk.yaml" DESTINATION .)
install(FILES "${CMAKE_BINARY_DIR}/envsetup.sh" DESTINATION bin)

# QNN_README.txt, docs and examples, as readers of a SDK expect them.
configure_file(cmake/QNN_README.txt.in "${CMAKE_BINARY_DIR}/QNN_README.txt" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/QNN_README.txt" DESTINATION .)
install(DIRECTORY docs/ DESTINATION "${CMAKE_INSTALL_DOCDIR}" FILES_MATCHING PATTERN "*.md")
install(FILES examples/hello_qnn.c DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")
install(DIRECTORY examples/op_package examples/gpu_op_package examples/digits
        DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")
install(CODE "
    set(dir \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    file(CREATE_LINK \"${CMAKE_INSTALL_DOCDIR}\" \"\${dir}/docs\" SYMBOLIC)
    file(CREATE_LINK \"${CMAKE_INSTALL_DOCDIR}/examples\" \"\${dir}/examples\" SYMBOLIC)")

# lib/python: the package `quern` as it is imported from there, with links to what lies around it,
# what clients import from an SDK (qti), and the stand-in for onnxruntime_qnn in a folder of its
# own, which nobody gets without asking.
install(DIRECTORY python/quern python/qti python/shim DESTINATION lib/python
        FILES_MATCHING PATTERN "*.py" PATTERN "*.html" PATTERN "py.typed")
install(DIRECTORY examples/digits DESTINATION lib/python/quern)
file(RELATIVE_PATH to_lib "/lib/python/quern" "/${CMAKE_INSTALL_LIBDIR}")
file(RELATIVE_PATH to_bin "/lib/python/quern" "/${CMAKE_INSTALL_BINDIR}")
string(REGEX REPLACE "/$" "" to_lib "${to_lib}")
string(REGEX REPLACE "/$" "" to_bin "${to_bin}")
install(CODE "
    set(dir \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/python/quern\")
    file(CREATE_LINK \"${to_lib}\" \"\${dir}/lib\" SYMBOLIC)
    file(CREATE_LINK \"${to_bin}\" \"\${dir}/bin\" SYMBOLIC)")
