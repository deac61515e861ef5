// SPDX-License-Identifier: Apache-2.0
#include "cuda/nccl_team.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "contract/meeting.hpp"
#include "cuda/cuda_memory.hpp"

namespace contract {
namespace {

void must(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, ncclGetErrorString(result));
  std::exit(2);
}

class NcclTeam final : public Team {
 public:
  NcclTeam(int rank, int ranks, const ncclUniqueId& id, bool own, Meeting& meeting)
      : Team(cuda_memory(rank)), rank_(rank), ranks_(ranks), own_(own), meeting_(meeting) {
    must(ncclCommInitRank(&comm_, ranks, id, rank), "ncclCommInitRank");
  }
  ~NcclTeam() override { must(ncclCommDestroy(comm_), "ncclCommDestroy"); }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  void sum(std::span<double> values) override { meeting_.sum(rank_, values); }

 private:
  void connect(tokavg_config_t& config) override {
    config.comm_kind = TOKAVG_COMM_NCCL;
    config.comm = comm_;
    if (own_) config.flags |= static_cast<std::uint32_t>(TOKAVG_CONFIG_NCCL_OWN);
  }

  int rank_;
  int ranks_;
  bool own_;
  Meeting& meeting_;
  ncclComm_t comm_ = nullptr;
};

// The communicator's kind is the team's, what carries the sums is not.
class NcclMemory final : public Memory {
 public:
  explicit NcclMemory(int rank) : gpu_(cuda_memory(rank)) {}
  void configure(tokavg_config_t& config) override {
    gpu_->configure(config);
    config.transport = TOKAVG_TRANSPORT_NCCL;
  }
  [[nodiscard]] std::int32_t kind() const override { return gpu_->kind(); }
  [[nodiscard]] tokavg_stream_t stream() const override { return gpu_->stream(); }
  void* put(const void* bytes, std::size_t size) override { return gpu_->put(bytes, size); }
  void get(void* bytes, const void* from, std::size_t size) override { gpu_->get(bytes, from, size); }
  void clear() override { gpu_->clear(); }

 private:
  std::unique_ptr<Memory> gpu_;
};

}  // namespace

int nccl_devices() {
  ncclUniqueId id;
  static const bool found = ncclGetUniqueId(&id) == ncclSuccess;
  int devices = 0;
  return found && cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0;
}

void run_on_nccl(int ranks, bool own, const Body& body) {
  ncclUniqueId id;
  must(ncclGetUniqueId(&id), "ncclGetUniqueId");
  Meeting meeting(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      NcclTeam team(rank, ranks, id, own, meeting);
      body(team);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::unique_ptr<Memory> nccl_over_threads_memory(int rank) { return std::make_unique<NcclMemory>(rank); }

}  // namespace contract
