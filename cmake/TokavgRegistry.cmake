# SPDX-License-Identifier: Apache-2.0
# generated/registry.cpp: the list of the devices and transports of a build, from the CMake calls that added them.

# tokavg_write_registry(target file DEVICES host cuda... TRANSPORTS self mpi...): writes the list and compiles it into the target. Those that
# are not among them are stood for by an entry that names the option which builds them.
function(tokavg_write_registry target file)
    cmake_parse_arguments(arg "" "" "DEVICES;TRANSPORTS" ${ARGN})
    set(TOKAVG_REGISTRY_DECLARATIONS "")
    foreach(pair "DEVICE;Device;cuda" "TRANSPORT;Transport;mpi nccl")
        list(POP_FRONT pair upper type)
        string(REPLACE " " ";" optional "${pair}")
        set(list "")
        foreach(name IN LISTS arg_${upper}S)
            string(APPEND TOKAVG_REGISTRY_DECLARATIONS "namespace ${name} {\nextern const ${type}Factory kFactory;\n}\n")
            string(APPEND list "&${name}::kFactory, ")
        endforeach()
        foreach(name IN LISTS optional)
            if(NOT name IN_LIST arg_${upper}S)
                string(SUBSTRING ${name} 0 1 first)
                string(SUBSTRING ${name} 1 -1 rest)
                string(TOUPPER ${first} first)
                string(APPEND TOKAVG_REGISTRY_DECLARATIONS
                       "namespace not_built {\nextern const ${type}Factory k${first}${rest};\n}\n")
                string(APPEND list "&not_built::k${first}${rest}, ")
            endif()
        endforeach()
        set(TOKAVG_REGISTRY_${upper}S "${list}")
    endforeach()
    configure_file(${PROJECT_SOURCE_DIR}/cmake/registry.cpp.in ${file} @ONLY)
    target_sources(${target} PRIVATE ${file})
endfunction()
