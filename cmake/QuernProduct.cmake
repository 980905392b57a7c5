# SPDX-License-Identifier: MIT
#
# `product`: every library, program and page that exists so far, which leaves out tests and
# benchmarks.
function(quern_products dir out)
    get_property(targets DIRECTORY "${dir}" PROPERTY BUILDSYSTEM_TARGETS)
    get_property(folders DIRECTORY "${dir}" PROPERTY SUBDIRECTORIES)
    set(found "")
    foreach(target IN LISTS targets)
        get_target_property(type ${target} TYPE)
        if(type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY|UTILITY)$")
            list(APPEND found ${target})
        endif()
    endforeach()
    foreach(folder IN LISTS folders)
        quern_products("${folder}" more)
        list(APPEND found ${more})
    endforeach()
    set(${out} ${found} PARENT_SCOPE)
endfunction()

quern_products("${CMAKE_CURRENT_SOURCE_DIR}" targets)
add_custom_target(product DEPENDS ${targets})
