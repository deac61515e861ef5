# SPDX-License-Identifier: Apache-2.0
# generated/registry.cpp: the list of the devices and transports of this build, from the CMake calls that added them.

function(tokavg_write_registry)
    set(TOKAVG_REGISTRY_DECLARATIONS "")
    foreach(kind device transport)
        string(TOUPPER ${kind} upper)
        string(SUBSTRING ${upper} 0 1 first)
        string(SUBSTRING ${kind} 1 -1 rest)
        set(list "")
        foreach(name IN LISTS TOKAVG_${upper}S)
            string(APPEND TOKAVG_REGISTRY_DECLARATIONS
                   "namespace ${name} {\nextern const ${first}${rest}Factory kFactory;\n}\n")
            string(APPEND list "&${name}::kFactory, ")
        endforeach()
        set(TOKAVG_REGISTRY_${upper}S "${list}")
    endforeach()
    configure_file(${PROJECT_SOURCE_DIR}/cmake/registry.cpp.in ${PROJECT_BINARY_DIR}/generated/registry.cpp @ONLY)
    target_sources(tokavg_objects PRIVATE ${PROJECT_BINARY_DIR}/generated/registry.cpp)
endfunction()
