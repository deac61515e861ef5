# SPDX-License-Identifier: Apache-2.0
# What tests of the Julia package share.
#   TOKAVG_JULIA           the program, or ...-NOTFOUND
#   TOKAVG_JULIA_MISSING   why tests are skipped; empty where they run
#   TOKAVG_JULIA_COMMAND   starts Julia with the package, the library of this build and a depot in the build folder
# Folders that use it include it each for itself.

find_program(TOKAVG_JULIA julia DOC "Julia 1.5 or later (scripts/julia installs it)")
set(TOKAVG_JULIA_MISSING "")
if(NOT TOKAVG_JULIA)
    set(TOKAVG_JULIA_MISSING "julia was not found when the build was configured (scripts/julia installs it)")
elseif(TOKAVG_SANITIZE)
    set(TOKAVG_JULIA_MISSING "a library with a sanitizer cannot be loaded into Julia")
endif()

set(TOKAVG_JULIA_PACKAGE ${CMAKE_CURRENT_LIST_DIR}/Tokavg.jl)
set(TOKAVG_JULIA_ENVIRONMENT
    JULIA_DEPOT_PATH=${PROJECT_BINARY_DIR}/julia_depot JULIA_LOAD_PATH=@:@stdlib JULIA_NUM_THREADS=4)
set(TOKAVG_JULIA_COMMAND ${CMAKE_COMMAND} -E env ${TOKAVG_JULIA_ENVIRONMENT} TOKAVG_LIBRARY=$<TARGET_FILE:tokavg>
    ${TOKAVG_JULIA} --startup-file=no --project=${TOKAVG_JULIA_PACKAGE})

# Ranks that start together must not all compile the package into the depot.
get_property(compiled GLOBAL PROPERTY tokavg_julia_compiled)
if(NOT TOKAVG_JULIA_MISSING AND NOT compiled)
    set_property(GLOBAL PROPERTY tokavg_julia_compiled TRUE)
    add_test(NAME julia.compile COMMAND ${TOKAVG_JULIA_COMMAND} -e "using Tokavg; print(Tokavg.version())")
    tokavg_test_properties(julia.compile TIMEOUT 120 LABELS julia)
    set_tests_properties(julia.compile PROPERTIES FIXTURES_SETUP julia)
endif()

# tokavg_add_julia_test(name [TIMEOUT s] [LABELS l...] COMMAND c...): a test that needs the compiled package.
function(tokavg_add_julia_test name)
    cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;COMMAND" ${ARGN})
    if(TOKAVG_JULIA_MISSING)
        tokavg_add_skipped_test(${name} "${TOKAVG_JULIA_MISSING}" LABELS julia ${arg_LABELS})
        return()
    endif()
    add_test(NAME ${name} COMMAND ${arg_COMMAND})
    tokavg_test_properties(${name} TIMEOUT ${arg_TIMEOUT} LABELS julia ${arg_LABELS})
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED julia)
endfunction()
