# SPDX-License-Identifier: MIT
#
# `make install`: headers, libraries, pkg-config file and CMake package, in the shape of a QNN SDK.
include(CMakePackageConfigHelpers)

foreach(dir IN ITEMS QNN Quern)
    if(IS_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/include/${dir}")
        install(DIRECTORY "include/${dir}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
                FILES_MATCHING PATTERN "*.h")
    endif()
endforeach()

get_property(libraries GLOBAL PROPERTY QUERN_LIBRARIES)
install(TARGETS qnn_headers ${libraries} EXPORT QuernTargets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT QuernTargets NAMESPACE Quern:: FILE QuernConfig.cmake
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/Quern")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/QuernConfigVersion.cmake"
                                 COMPATIBILITY SameMajorVersion)
# Relative, so that `cmake --install --prefix` and moving the tree work.
file(RELATIVE_PATH QUERN_PC_UP "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/quern.pc.in "${CMAKE_BINARY_DIR}/quern.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/QuernConfigVersion.cmake"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/Quern")
install(FILES "${CMAKE_BINARY_DIR}/quern.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(QUERN_ARCH MATCHES "^(x86_64|aarch64)$")
    include(QuernSdk)
endif()
