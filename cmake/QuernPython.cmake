# SPDX-License-Identifier: MIT
#
# The Python package: its sources and the libraries beside them, in quern/lib. `cmake --install ...
# --component python` makes the package in any folder; pip does the same with its own build.
get_property(libraries GLOBAL PROPERTY QUERN_LIBRARIES)
add_custom_target(python_package DEPENDS ${libraries})
install(TARGETS ${libraries} LIBRARY DESTINATION quern/lib COMPONENT python EXCLUDE_FROM_ALL)
if(NOT QUERN_PYTHON_PACKAGE) # pip takes the sources itself
    install(DIRECTORY python/quern DESTINATION . COMPONENT python EXCLUDE_FROM_ALL
            FILES_MATCHING PATTERN "*.py" PATTERN "py.typed")
endif()
