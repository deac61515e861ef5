# SPDX-License-Identifier: Apache-2.0
# libtokavg.so: the objects, an explicit list of exports, and no dependency on any MPI or NCCL.

set(TOKAVG_ABI_VERSION 1)
configure_file(include/tokavg/version.h.in include/tokavg/version.h @ONLY)

add_library(tokavg SHARED)
add_library(tokavg::tokavg ALIAS tokavg)
set_target_properties(tokavg PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${TOKAVG_ABI_VERSION}
    LINKER_LANGUAGE CXX
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
target_link_libraries(tokavg PRIVATE tokavg_objects tokavg_backends)
target_include_directories(tokavg PUBLIC
    "$<BUILD_INTERFACE:${TOKAVG_PUBLIC_INCLUDES}>"
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

set(TOKAVG_MAP ${PROJECT_SOURCE_DIR}/c_api/tokavg.map)
if(EXISTS ${TOKAVG_MAP})
    target_link_options(tokavg PRIVATE -Wl,--version-script=${TOKAVG_MAP})
    set_property(TARGET tokavg APPEND PROPERTY LINK_DEPENDS ${TOKAVG_MAP})
endif()
# Clang leaves the sanitizers' symbols to the executable.
if(NOT (TOKAVG_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang"))
    target_link_options(tokavg PRIVATE -Wl,--no-undefined)
endif()
