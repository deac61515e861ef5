# SPDX-License-Identifier: Apache-2.0
# How a test is registered. Every test gets a timeout, labels, the code 77 for "skipped", and the sanitizers' settings.

find_package(PkgConfig REQUIRED)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

set(TOKAVG_TEST_SUPPORT ${PROJECT_SOURCE_DIR}/tests/support)
set(TOKAVG_TEST_ENVIRONMENT "")
set(TOKAVG_TIMEOUT_SCALE 1)
if(TOKAVG_SANITIZE)
    set(TOKAVG_TIMEOUT_SCALE 5)
    set(TOKAVG_TEST_ENVIRONMENT
        # The slow unwinder sees through libraries without frame pointers: else no suppression finds MPI in a stack.
        "ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:fast_unwind_on_malloc=0"
        "LSAN_OPTIONS=suppressions=${TOKAVG_TEST_SUPPORT}/lsan.supp:print_suppressions=0"
        "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1"
        "TSAN_OPTIONS=halt_on_error=1:ignore_noninstrumented_modules=1:suppressions=${TOKAVG_TEST_SUPPORT}/tsan.supp")
endif()

# What TOKAVG_SIMD can be here; the processor may lack some of them (tests/support/with-simd).
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)")
    set(TOKAVG_SIMD_TARGETS neon)
else()
    set(TOKAVG_SIMD_TARGETS avx512 avx2 portable)
endif()

# tokavg_test_properties(test TIMEOUT seconds LABELS l... [ENVIRONMENT VAR=value...])
function(tokavg_test_properties test)
    cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;ENVIRONMENT" ${ARGN})
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    math(EXPR timeout "${arg_TIMEOUT} * ${TOKAVG_TIMEOUT_SCALE}")
    set_tests_properties(${test} PROPERTIES
        TIMEOUT ${timeout} SKIP_RETURN_CODE 77 LABELS "${arg_LABELS}"
        ENVIRONMENT "${TOKAVG_TEST_ENVIRONMENT};${arg_ENVIRONMENT}")
endfunction()

# Helpers shared by tests: tests/support/*.c, included as "support/name.h".
file(GLOB support_sources CONFIGURE_DEPENDS ${TOKAVG_TEST_SUPPORT}/*.c)
if(support_sources)
    add_library(tokavg_test_support STATIC ${support_sources})
    target_link_libraries(tokavg_test_support PUBLIC tokavg_test_base)
else()
    add_library(tokavg_test_support INTERFACE)
    target_link_libraries(tokavg_test_support INTERFACE tokavg_test_base)
endif()
add_library(tokavg_test_base INTERFACE)
target_include_directories(tokavg_test_base INTERFACE
    ${PROJECT_SOURCE_DIR}/tests ${TOKAVG_PUBLIC_INCLUDES})
target_compile_definitions(tokavg_test_base INTERFACE TOKAVG_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
target_link_libraries(tokavg_test_base INTERFACE tokavg_warnings PkgConfig::CMOCKA Threads::Threads m)

# tokavg_add_test_program(target sources...): a program linked to libtokavg.so and cmocka, not yet a test.
function(tokavg_add_test_program target)
    add_executable(${target} ${ARGN})
    target_link_libraries(${target} PRIVATE tokavg_test_support tokavg)
endfunction()

# tokavg_add_internal_test_program(target sources...): linked to the objects instead, so it sees the internals.
function(tokavg_add_internal_test_program target)
    add_executable(${target} ${ARGN})
    target_link_libraries(${target} PRIVATE tokavg_test_support tokavg_objects tokavg_backends)
endfunction()

# The sources of the shims that a file includes: tests/support/internal*.h.
function(tokavg_find_shims file shims_out)
    file(STRINGS ${file} lines REGEX "^#include \"support/internal[a-z_]*\\.h\"")
    list(TRANSFORM lines REPLACE "^#include \"support/(internal[a-z_]*)\\.h\".*" "${TOKAVG_TEST_SUPPORT}/\\1.cpp")
    set(${shims_out} ${lines} PARENT_SCOPE)
endfunction()

# tokavg_add_file_test(LABEL file [TIMEOUT s] [ARGS a...]): one file, one program, one test called LABEL.stem.
# A .c file sees the library as a user does, or, if it includes a shim, the internals through it, so that no failed
# assertion jumps across C++ frames. A .cpp file sees the internals.
function(tokavg_add_file_test label file)
    cmake_parse_arguments(arg "" "TIMEOUT" "ARGS" ${ARGN})
    cmake_path(GET file STEM stem)
    set(target ${label}_${stem})
    set(environment "")
    tokavg_find_shims(${file} shims)
    if(shims OR file MATCHES "\\.cpp$")
        tokavg_add_internal_test_program(${target} ${file} ${shims})
        set(environment "TOKAVG_PLUGIN_PATH=${PROJECT_BINARY_DIR}/lib")
    else()
        tokavg_add_test_program(${target} ${file})
    endif()
    add_test(NAME ${label}.${stem} COMMAND ${target} ${arg_ARGS})
    tokavg_test_properties(${label}.${stem} TIMEOUT ${arg_TIMEOUT} LABELS ${label} ENVIRONMENT ${environment})
endfunction()

function(tokavg_add_unit_test file)
    tokavg_add_file_test(unit ${file} ${ARGN})
endfunction()

function(tokavg_add_threads_test file)
    tokavg_add_file_test(threads ${file} ${ARGN})
endfunction()

# tokavg_add_skipped_test(name reason LABELS l...): stands for a test whose ingredient is not on this machine.
function(tokavg_add_skipped_test name reason)
    add_test(NAME ${name} COMMAND ${TOKAVG_TEST_SUPPORT}/skip ${reason})
    tokavg_test_properties(${name} ${ARGN})
endfunction()

# tokavg_add_mpi_program(target flavour sources...): a test program that also uses that MPI.
function(tokavg_add_mpi_program target flavour)
    tokavg_add_test_program(${target} ${ARGN})
    target_link_libraries(${target} PRIVATE tokavg::${flavour})
    tokavg_keep_modules(${target})
    if(TARGET tokavg_mpi_${flavour})
        add_dependencies(${target} tokavg_mpi_${flavour})
    endif()
endfunction()

# tokavg_add_rank_test(NAME x FLAVOUR openmpi RANKS 1 2 4 {SOURCES a.c... | TARGET t} [ARGS a...] [TIMEOUT s] [LABELS l...]
#                      [ENVIRONMENT VAR=value...])
# One test for each number of ranks, called rank.NAME.FLAVOUR.N and labelled rank, FLAVOUR, rankN. The programs of SOURCES are
# shared by all calls with the same NAME and FLAVOUR. A flavour that is not on this machine gives skipped tests.
function(tokavg_add_rank_test)
    cmake_parse_arguments(arg "" "NAME;FLAVOUR;TARGET;TIMEOUT" "RANKS;SOURCES;ARGS;LABELS;ENVIRONMENT" ${ARGN})
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    set(found TRUE)
    string(TOUPPER ${arg_FLAVOUR} upper)
    if(NOT arg_FLAVOUR IN_LIST TOKAVG_MPI_FLAVOURS OR NOT TOKAVG_MPIEXEC_${upper})
        set(found FALSE)
    elseif(arg_SOURCES)
        set(arg_TARGET rank_${arg_NAME}_${arg_FLAVOUR})
        if(NOT TARGET ${arg_TARGET})
            tokavg_add_mpi_program(${arg_TARGET} ${arg_FLAVOUR} ${arg_SOURCES})
        endif()
    endif()
    foreach(ranks IN LISTS arg_RANKS)
        set(test rank.${arg_NAME}.${arg_FLAVOUR}.${ranks})
        set(labels rank ${arg_FLAVOUR} rank${ranks} ${arg_LABELS})
        if(NOT found)
            tokavg_add_skipped_test(${test} "${arg_FLAVOUR} was not found when the build was configured" LABELS ${labels})
            continue()
        endif()
        math(EXPR inner "${arg_TIMEOUT} * ${TOKAVG_TIMEOUT_SCALE}")
        math(EXPR outer "${arg_TIMEOUT} + 10")
        add_test(NAME ${test} COMMAND ${TOKAVG_TEST_SUPPORT}/launch ${arg_FLAVOUR} ${TOKAVG_MPIEXEC_${upper}} ${ranks}
                 ${inner} $<TARGET_FILE:${arg_TARGET}> ${arg_ARGS})
        tokavg_test_properties(${test} TIMEOUT ${outer} LABELS ${labels} ENVIRONMENT ${arg_ENVIRONMENT})
        set_tests_properties(${test} PROPERTIES PROCESSORS ${ranks})
    endforeach()
endfunction()
