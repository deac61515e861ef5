# SPDX-License-Identifier: Apache-2.0
# The same ranks, with GPUs and sums over NCCL, both emulated. NCCL does not tell which ranks are missing.
if(NOT TARGET tokavg_test_contract_emulated)
    return()
endif()
add_failure_scenarios(tokavg_test_failures_nccl tokavg_test_contract_emulated)
add_executable(failures_nccl_threads threads_main.cpp backend_nccl.cpp)
target_link_libraries(failures_nccl_threads PRIVATE tokavg_test_failures_nccl)
if(TARGET tokavg_mpi_openmpi)
    add_executable(failures_nccl_openmpi mpi_main.cpp mpi_scenarios.cpp backend_nccl.cpp)
    target_link_libraries(failures_nccl_openmpi PRIVATE tokavg_test_failures_nccl tokavg::openmpi)
    tokavg_keep_modules(failures_nccl_openmpi)
    add_dependencies(failures_nccl_openmpi tokavg_mpi_openmpi)
endif()

set(deadline_ms 1000)
foreach(case late.init late.count late.finalizing absent.reducing slow.init slow.finalizing)
    add_judged_test(nccl.${case}.4.1 4 LABELS cuda nccl failures
        COMMAND ${case} 1 4 $<TARGET_FILE:failures_nccl_threads>)
endforeach()
foreach(case killed.init killed.count killed.reducing killed.waiting killed.finalizing left.count stopped.count)
    if(TARGET tokavg_mpi_openmpi AND TOKAVG_MPIEXEC_OPENMPI)
        add_judged_test(rank.nccl.${case}.openmpi.4.1 4 LABELS rank cuda nccl openmpi failures ENVIRONMENT LAUNCH_RECOVERY=1
            COMMAND ${case} 1 multiple ${TOKAVG_TEST_SUPPORT}/launch openmpi ${TOKAVG_MPIEXEC_OPENMPI} 4 50
                    $<TARGET_FILE:failures_nccl_openmpi>)
    endif()
endforeach()
