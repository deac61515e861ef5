# SPDX-License-Identifier: Apache-2.0
# Library, headers, plugins beside the library, the plugin's source, CMake package and pkg-config file.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tokavg)

install(TARGETS tokavg EXPORT tokavg-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/tokavg DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${PROJECT_BINARY_DIR}/include/tokavg/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tokavg)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

foreach(flavour IN LISTS TOKAVG_MPI_FLAVOURS)
    if(TARGET tokavg_mpi_${flavour})
        install(TARGETS tokavg_mpi_${flavour} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    endif()
endforeach()
# For an MPI that this machine does not have: the plugin can be compiled with its mpicc alone.
if(EXISTS ${PROJECT_SOURCE_DIR}/src/transport/mpi/plugin)
    install(DIRECTORY src/transport/mpi/plugin/ DESTINATION ${CMAKE_INSTALL_DATADIR}/tokavg/mpi_plugin
            FILES_MATCHING PATTERN "*.c" PATTERN "*.h")
endif()

install(EXPORT tokavg-targets NAMESPACE tokavg:: DESTINATION ${package_dir})
configure_package_config_file(cmake/tokavg-config.cmake.in tokavg-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(tokavg-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tokavg-config.cmake ${PROJECT_BINARY_DIR}/tokavg-config-version.cmake
        DESTINATION ${package_dir})

# Relative to the file itself, so that `cmake --install --prefix` and packages may put the tree anywhere.
file(RELATIVE_PATH TOKAVG_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" TOKAVG_PC_PREFIX ${TOKAVG_PC_PREFIX})
file(RELATIVE_PATH TOKAVG_PC_LIBDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH TOKAVG_PC_INCLUDEDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/tokavg.pc.in tokavg.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tokavg.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
