# SPDX-License-Identifier: Apache-2.0
# The tests of a frozen version of the interface.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# tokavg_add_interface(target folder version.h map includes...): the functions that the headers in the folder declare, without bodies and with
# debug information. Nothing but these headers decides what it looks like: not the library's own types (a context is an
# opaque name), nor how it was built. That the library's functions are those of its headers the C++ compiler sees to.
function(tokavg_add_interface target folder version_h map)
    set(script ${CMAKE_CURRENT_SOURCE_DIR}/interface.py)
    file(GLOB headers CONFIGURE_DEPENDS ${folder}/*.h)
    add_custom_command(OUTPUT ${target}.c
        COMMAND Python3::Interpreter -B ${script} ${folder} > ${target}.c
        DEPENDS ${script} ${PROJECT_SOURCE_DIR}/scripts/abi-layout ${headers})
    file(STRINGS ${version_h} abi_version REGEX "#define TOKAVG_ABI_VERSION ")
    string(REGEX REPLACE ".* " "" abi_version "${abi_version}")
    # The loader of a program that is linked to it looks for the library of that name instead.
    add_library(${target} SHARED ${CMAKE_CURRENT_BINARY_DIR}/${target}.c)
    set_target_properties(${target} PROPERTIES NO_SONAME ON)
    target_include_directories(${target} PRIVATE ${ARGN})
    target_compile_options(${target} PRIVATE -g)
    target_link_options(${target} PRIVATE -Wl,-soname,libtokavg.so.${abi_version} -Wl,--version-script=${map}
        -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/plugin.map)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${map} ${CMAKE_CURRENT_SOURCE_DIR}/plugin.map)
endfunction()

tokavg_add_interface(abi_interface_today ${PROJECT_SOURCE_DIR}/include/tokavg ${PROJECT_BINARY_DIR}/include/tokavg/version.h
    ${TOKAVG_MAP} ${TOKAVG_PUBLIC_INCLUDES})

# A client of that version, compiled with the frozen headers alone, runs with today's library: as it was linked then, and linked anew.
function(tokavg_add_frozen_client version folder)
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/client/*.c)
    add_library(abi_client_${version} OBJECT ${sources})
    target_include_directories(abi_client_${version} PRIVATE ${folder}/include)
    target_link_libraries(abi_client_${version} PRIVATE tokavg_warnings)
    foreach(linked old new)
        set(target abi_client_${version}_${linked})
        add_executable(${target} $<TARGET_OBJECTS:abi_client_${version}>)
        target_link_libraries(${target} PRIVATE Threads::Threads m)
        add_test(NAME abi.frozen.${version}.client_${linked} COMMAND ${target})
        tokavg_test_properties(abi.frozen.${version}.client_${linked} LABELS abi)
    endforeach()
    target_link_libraries(abi_client_${version}_old PRIVATE abi_interface_${version})
    set_target_properties(abi_client_${version}_old PROPERTIES BUILD_RPATH ${PROJECT_BINARY_DIR}/lib)
    add_dependencies(abi_client_${version}_old tokavg)
    target_link_libraries(abi_client_${version}_new PRIVATE tokavg)
    add_test(NAME abi.frozen.${version}.every_function COMMAND ${PROJECT_SOURCE_DIR}/scripts/check-symbols
             --uses $<TARGET_FILE:abi_client_${version}_old> ${folder}/tokavg.map)
    tokavg_test_properties(abi.frozen.${version}.every_function LABELS abi)
endfunction()

function(tokavg_add_frozen_version folder)
    cmake_path(GET folder FILENAME name)
    string(SUBSTRING ${name} 1 -1 version)
    add_test(NAME abi.frozen.${version}.unedited COMMAND sha256sum --check --strict --quiet SHA256SUMS
             WORKING_DIRECTORY ${folder})
    tokavg_test_properties(abi.frozen.${version}.unedited LABELS abi)

    tokavg_add_interface(abi_interface_${version} ${folder}/include/tokavg ${folder}/include/tokavg/version.h
        ${folder}/tokavg.map ${folder}/include)
    add_test(NAME abi.frozen.${version}.debug_information COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/compare-interfaces
             $<TARGET_FILE:abi_interface_${version}> $<TARGET_FILE:abi_interface_today>)
    tokavg_test_properties(abi.frozen.${version}.debug_information LABELS abi)

    if(EXISTS ${folder}/client)
        tokavg_add_frozen_client(${version} ${folder})
    endif()
endfunction()
