# SPDX-License-Identifier: Apache-2.0
# How a folder joins the library.

# tokavg_add_sources(): called by the CMakeLists.txt of a layer; adds every .cpp that lies in its folder.
function(tokavg_add_sources)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
    target_sources(tokavg_objects PRIVATE ${sources})
endfunction()

macro(tokavg_add_device name)
    add_subdirectory(src/device/${name})
    list(APPEND TOKAVG_DEVICES ${name})
endmacro()

macro(tokavg_add_transport name)
    add_subdirectory(src/transport/${name})
    list(APPEND TOKAVG_TRANSPORTS ${name})
endmacro()

# Files of src/device and src/transport themselves (shared by the backends), and a stand-in while there is no source.
function(tokavg_finish_objects)
    file(GLOB shared CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/device/*.cpp ${PROJECT_SOURCE_DIR}/src/transport/*.cpp)
    target_sources(tokavg_objects PRIVATE ${shared})
    get_target_property(sources tokavg_objects SOURCES)
    if(NOT sources)
        file(WRITE ${PROJECT_BINARY_DIR}/generated/empty.cpp "")
        target_sources(tokavg_objects PRIVATE ${PROJECT_BINARY_DIR}/generated/empty.cpp)
    endif()
endfunction()

# The facts of this build, for tokavg_describe and the search for plugins.
function(tokavg_write_build_options)
    list(JOIN TOKAVG_MPI_FLAVOURS "," TOKAVG_MPI_FLAVOURS_TEXT)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/build_options.hpp.in ${PROJECT_BINARY_DIR}/generated/build_options.hpp @ONLY)
endfunction()
