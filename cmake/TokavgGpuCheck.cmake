# SPDX-License-Identifier: Apache-2.0
# The target gpu_check: what scripts/gpu-check runs, in a folder that needs nothing else and may be moved, in
# PROJECT_BINARY_DIR/gpu-check. Its paths are those of the sources, so that the script finds its neighbours in both.

if(NOT TOKAVG_HAVE_CUDA OR NOT TOKAVG_HAVE_NCCL OR NOT TOKAVG_BUILD_TESTS)
    message(FATAL_ERROR "TOKAVG_BUILD_GPU_CHECK needs the tests, a CUDA compiler and nccl.h: "
                        "TOKAVG_BUILD_TESTS=ON, TOKAVG_CUDA=ON, TOKAVG_NCCL=ON")
endif()

set(programs "")
foreach(folder tests/cuda tests/cuda_kernels bench/gpu)
    get_property(targets DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} PROPERTY BUILDSYSTEM_TARGETS)
    list(FILTER targets INCLUDE REGEX "_gpu$")
    foreach(target IN LISTS targets)
        get_target_property(type ${target} TYPE)
        if(type STREQUAL "EXECUTABLE")
            list(APPEND programs ${target})
        endif()
    endforeach()
endforeach()
foreach(example example_sgd example_premulsum)
    if(TARGET ${example})
        list(APPEND programs ${example})
    endif()
endforeach()
set_target_properties(${programs} PROPERTIES INSTALL_RPATH $ORIGIN/../lib)
set_target_properties(tokavg_test_kernels_gpu PROPERTIES INSTALL_RPATH $ORIGIN)
set(libraries tokavg tokavg_test_kernels_gpu)
foreach(flavour IN LISTS TOKAVG_MPI_FLAVOURS)
    list(APPEND libraries tokavg_mpi_${flavour})
endforeach()

set(component COMPONENT gpu_check EXCLUDE_FROM_ALL)
install(TARGETS ${programs} RUNTIME_DEPENDENCY_SET gpu_check RUNTIME DESTINATION bin ${component})
install(TARGETS ${libraries} LIBRARY DESTINATION lib ${component})
# Not what every machine has, nor an MPI: that has to be the one that the machine's mpiexec belongs to.
install(RUNTIME_DEPENDENCY_SET gpu_check DESTINATION lib ${component}
    PRE_EXCLUDE_REGEXES "^(ld-linux|lib(c|m|dl|rt|pthread|stdc[+][+]|gcc_s|tokavg|tokavg_test_kernels_gpu|cuda|nccl|mpi|mpich|mpi_.*)[.-])")
install(PROGRAMS scripts/gpu-check DESTINATION scripts ${component})
foreach(folder bench/evaluation bench/gpu bench/gpu/check)
    file(GLOB files CONFIGURE_DEPENDS ${folder}/*.py)
    install(FILES ${files} DESTINATION ${folder} ${component})
endforeach()
install(FILES bench/peers/torch/tokavg_c.py DESTINATION bench/peers/torch ${component})
install(FILES tests/data/contract.jsonl DESTINATION tests/data ${component})
# scripts/gpu-check --build adds the revision.
file(CONFIGURE OUTPUT gpu-check.json @ONLY CONTENT [[{
 "suffix": "gpu",
 "version": "@PROJECT_VERSION@",
 "compiler": "@CMAKE_CXX_COMPILER_ID@ @CMAKE_CXX_COMPILER_VERSION@",
 "nvcc": "@CMAKE_CUDA_COMPILER_VERSION@",
 "architectures": "@CMAKE_CUDA_ARCHITECTURES@",
 "build_type": "@CMAKE_BUILD_TYPE@"
}
]])
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gpu-check.json DESTINATION . RENAME build.json ${component})

add_custom_target(gpu_check
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${PROJECT_BINARY_DIR}/gpu-check
    COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --component gpu_check --strip
            --prefix ${PROJECT_BINARY_DIR}/gpu-check
    DEPENDS ${programs} ${libraries}
    VERBATIM)
