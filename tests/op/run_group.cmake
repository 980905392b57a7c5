# SPDX-License-Identifier: MIT
#
# One op test: SCRIPT writes CASES (with PYTHON, if they are missing or out of date), then RUNNER
# runs them on LIBRARY. FILTER selects some.
get_filename_component(folder "${SCRIPT}" DIRECTORY)
set(stale FALSE)
file(GLOB sources "${folder}/q*.py" "${folder}/*_oracle.py")
foreach(source IN LISTS SCRIPT sources)
    if("${source}" IS_NEWER_THAN "${CASES}")
        set(stale TRUE)
    endif()
endforeach()
if(stale)
    execute_process(COMMAND "${CMAKE_COMMAND}" -E env PYTHONDONTWRITEBYTECODE=1
                            "${PYTHON}" "${SCRIPT}" -o "${CASES}.new"
                    RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "${SCRIPT} failed: ${status}")
    endif()
    file(RENAME "${CASES}.new" "${CASES}")
endif()
set(filter "")
if(FILTER)
    set(filter --filter "${FILTER}")
endif()
execute_process(COMMAND ${RUNNER} "${LIBRARY}" "${CASES}" --verbose ${filter}
                RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "run_cases: exit status ${status}")
endif()
