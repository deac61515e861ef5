# SPDX-License-Identifier: Apache-2.0
# One rank with a library of another ABI, or that speaks in another way. A sanitizer must come before anything preloaded.
if(TOKAVG_SANITIZE)
    return()
endif()

# add_other_version(name ABI WIRE): this library with other numbers.
function(add_other_version name abi wire)
    add_library(tokavg_${name} SHARED other_version.cpp
        $<FILTER:$<TARGET_OBJECTS:tokavg_objects>,EXCLUDE,core/agreement\\.cpp>)
    target_compile_definitions(tokavg_${name} PRIVATE OTHER_ABI=${abi} OTHER_WIRE=${wire})
    target_include_directories(tokavg_${name} PRIVATE $<TARGET_PROPERTY:tokavg_objects,INCLUDE_DIRECTORIES>)
    target_link_libraries(tokavg_${name} PRIVATE tokavg_backends Threads::Threads ${CMAKE_DL_LIBS} nlohmann_json::nlohmann_json)
    target_link_options(tokavg_${name} PRIVATE -Wl,--version-script=${TOKAVG_MAP})
    set_target_properties(tokavg_${name} PROPERTIES OUTPUT_NAME tokavg SOVERSION ${TOKAVG_ABI_VERSION}
        LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name})
endfunction()
add_other_version(other_abi 2 1)
add_other_version(other_wire 1 2)

set(deadline_ms 1500)
foreach(scenario other_abi other_wire)
    add_mpi_failure(openmpi ${scenario} multiple 4 1 LIBRARY tokavg_${scenario})
    add_mpi_failure(mpich ${scenario} multiple 2 0 LIBRARY tokavg_${scenario})
endforeach()
