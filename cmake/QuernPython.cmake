# SPDX-License-Identifier: MIT
#
# The Python package: its sources and, beside them, the libraries in quern/lib, the program in
# quern/bin and the demo network in quern/digits. `cmake --install ... --component python` makes the
# package in any folder; pip does the same with its own build.
get_property(libraries GLOBAL PROPERTY QUERN_LIBRARIES)
add_custom_target(python_package DEPENDS ${libraries})
install(TARGETS ${libraries} LIBRARY DESTINATION quern/lib COMPONENT python EXCLUDE_FROM_ALL)
if(TARGET quern)
    add_dependencies(python_package quern)
    install(TARGETS quern RUNTIME DESTINATION quern/bin COMPONENT python EXCLUDE_FROM_ALL)
endif()
install(DIRECTORY examples/digits DESTINATION quern COMPONENT python EXCLUDE_FROM_ALL)
if(NOT QUERN_PYTHON_PACKAGE) # pip takes the sources itself
    install(DIRECTORY python/quern DESTINATION . COMPONENT python EXCLUDE_FROM_ALL
            FILES_MATCHING PATTERN "*.py" PATTERN "*.html" PATTERN "py.typed")
endif()
