// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "cuda_emulator/device_code.hpp"
#include "cuda_emulator/fiber.hpp"
#include "cuda_emulator/kernel.hpp"
#include "cuda_emulator/random.hpp"

namespace cuda_emulator {

struct Block;
struct Warp;

struct CudaThread {
  Fiber* fiber = nullptr;
  Block* block = nullptr;
  Warp* warp = nullptr;
  uint3 index{};
  unsigned lane = 0;
  bool fenced = false;
  std::uint64_t value = 0;    // what it brings to a warp operation, and then the result
  unsigned source = 0;        // the lane whose value it wants
  std::uint64_t wake_at = 0;  // of a nap
};

// Where threads wait for each other. Twice the same one in a row must not mix what a sanitizer sees, hence the phases.
struct Barrier {
  std::vector<CudaThread*> waiting;
  std::array<char, 2> phases{};  // only their addresses matter
  unsigned phase = 0;
};

struct PendingWarpOperation {
  WarpOperation operation{};
  unsigned mask = 0;
  unsigned arrived = 0;
  unsigned phase = 0;
};

struct Warp {
  std::array<CudaThread*, 32> lanes{};
  unsigned present = 0;  // lanes that exist and have not exited
  std::vector<PendingWarpOperation> pending;
  std::array<char, 2> phases{};
  unsigned next_phase = 0;
};

struct Block {
  uint3 index{};
  unsigned rank = 0;  // in its cluster
  unsigned live = 0;
  Barrier barrier;
  std::vector<Warp> warps;
  unsigned char* shared = nullptr;
};

// The threads of one cluster (mostly of one block) at a time, interleaved in random order on the calling OS thread.
class Team {
 public:
  Team(const Kernel& kernel, std::uint64_t seed);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  void run_cluster(std::uint64_t first_block);

  // For the thread that runs now:
  void wait_for_block();
  void wait_for_cluster();
  std::uint64_t exchange(WarpOperation operation, unsigned mask, std::uint64_t value, unsigned source);
  void nap(std::uint64_t ns);
  void run_body();
  void finish();
  bool tosses(unsigned one_in) { return random_.below(one_in) == 0; }
  void* shared_of(void* mine, unsigned rank);
  unsigned char* shared() const;
  const Kernel& kernel() const { return kernel_; }

 private:
  void start(std::uint64_t first_block);
  void start_block(Block& block, std::uint64_t number);
  void check_shared_memory(const Block& block);
  void arrive(Barrier& barrier, std::size_t expected);
  void complete(Warp& warp, const PendingWarpOperation& pending);
  void leave();  // the running thread waits; another one runs
  void switch_from(Context& from);
  bool wake_sleepers();
  [[noreturn]] void report_stuck() const;

  const Kernel& kernel_;
  Random random_;
  std::vector<Fiber*> fibers_;
  std::vector<CudaThread> threads_;
  std::vector<Block> blocks_;
  std::vector<unsigned char> shared_memory_;
  std::vector<CudaThread*> runnable_;
  std::vector<CudaThread*> sleeping_;
  Barrier cluster_barrier_;
  Context main_;
  char started_ = 0;  // only the addresses matter
  char finished_ = 0;
  std::size_t live_ = 0;
};

// What this OS thread runs now; nullptr outside kernels.
extern constinit thread_local Team* current_team;
extern constinit thread_local CudaThread* current_thread;

}  // namespace cuda_emulator
