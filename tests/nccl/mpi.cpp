// SPDX-License-Identifier: Apache-2.0
// mpi plain|multiple: processes under MPI, with an emulated GPU each, over a communicator that NCCL makes with the help
// of MPI. Contexts of the host, through the C interface.
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "contract/mpi_team.hpp"
#include "cuda_emulator/control.h"
#include "nccl/steps.hpp"

namespace {

using namespace nccl_test;

constexpr int kVictim = 1;

struct Process {
  int rank = 0;
  int ranks = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  int faults = 0;

  void expect(const std::string& name, const std::string& fault) {
    if (fault.empty()) return;
    ++faults;
    std::printf("FAIL %s: rank %d: %s\n", name.c_str(), rank, fault.c_str());
  }
  [[nodiscard]] tokavg_config_t config() const {
    tokavg_config_t config = host_config();
    config.comm_kind = TOKAVG_COMM_MPI;
    config.comm = &comm;
    config.transport = TOKAVG_TRANSPORT_NCCL;
    return config;
  }
};

void life(Process& process) {
  Context context;
  process.expect("life", context.init(process.config()));
  const std::string facts = nlohmann::json::parse(context.describe(), nullptr, false).dump();
  const bool describes = facts.find(R"("transport":"nccl")") != std::string::npos &&
                         facts.find(R"("transport":"mpi")") != std::string::npos;
  process.expect("describe", describes ? "" : facts);
  process.expect("life", context.steps(process.rank, process.ranks, 20));
  process.expect("life", context.finalize());
}

// Named on all ranks, and long before the deadline.
void bad_device(Process& process) {
  Context context;
  tokavg_config_t config = process.config();
  config.timeout_ms = 60000;
  const bool victim = process.rank == kVictim;
  if (victim) config.device_index = 99;
  process.expect("bad device", context.init_fails(config, victim ? TOKAVG_ERR_CONFIG : TOKAVG_ERR_PEER,
                                                  {victim ? "device_index is 99" : "rank 1"}));
}

void init_missing(Process& process) {
  if (process.rank == kVictim) return;
  Context context;
  tokavg_config_t config = process.config();
  config.timeout_ms = 1000;
  process.expect("init missing", context.init_fails(config, TOKAVG_ERR_TIMEOUT, {}));
}

void step_missing(Process& process) {
  Context context;
  tokavg_config_t config = process.config();
  config.timeout_ms = 1000;
  process.expect("step missing", context.init(config));
  process.expect("step missing", context.steps(process.rank, process.ranks, 2));
  if (process.rank == kVictim) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    return;
  }
  process.expect("step missing", context.step_fails(TOKAVG_ERR_TIMEOUT, {"within 1 s", "given up"}));
  process.expect("step missing", cudaDeviceSynchronize() == cudaSuccess ? "" : "the GPU did not drain");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int level = MPI_THREAD_SINGLE;
  if (std::strcmp(argv[1], "plain") == 0) {
    MPI_Init(&argc, &argv);
  } else {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  }
  cuda_emulator_check_order(0);
  Process process;
  MPI_Comm_dup(MPI_COMM_WORLD, &process.comm);
  MPI_Comm_rank(process.comm, &process.rank);
  MPI_Comm_size(process.comm, &process.ranks);
  cudaSetDevice(process.rank);
  life(process);
  if (process.ranks > 1) {
    bad_device(process);
    life(process);
    step_missing(process);
    MPI_Barrier(process.comm);
    init_missing(process);
    MPI_Barrier(process.comm);
  }
  int faults = 0;
  MPI_Allreduce(&process.faults, &faults, 1, MPI_INT, MPI_SUM, process.comm);
  if (process.rank == 0) std::printf("%d ranks: %s\n", process.ranks, faults == 0 ? "pass" : "fail");
  MPI_Comm_free(&process.comm);
  MPI_Finalize();
  return faults == 0 ? 0 : 1;
}
