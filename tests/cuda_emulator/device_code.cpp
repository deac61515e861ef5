// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/device_code.hpp"

#include <time.h>

#include <cstdio>
#include <numeric>

#include "cuda_emulator/report.hpp"
#include "cuda_emulator/sanitizers.hpp"
#include "cuda_emulator/team.hpp"

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

// What device code calls, handed to the team of threads that this OS thread runs.
namespace cuda_emulator {
namespace {

// One atomic operation in so many lets other threads of the block run.
constexpr unsigned kAtomicsPerSwitch = 61;

Team& team(const char* what) {
  if (current_team == nullptr) report("%s outside of a kernel", what);
  return *current_team;
}

}  // namespace

void run_kernel(const Kernel& kernel, std::uint64_t seed) {
  Team team(kernel, seed);
  Random random(seed + 1);
  const std::uint64_t blocks = std::uint64_t{kernel.grid.x} * kernel.grid.y * kernel.grid.z;
  std::vector<std::uint64_t> order(blocks / kernel.cluster);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  for (std::size_t left = order.size(); left > 0; --left) {
    std::swap(order[random.below(left)], order[left - 1]);
    team.run_cluster(order[left - 1] * kernel.cluster);
  }
}

// A fiber is resumed by another OS thread when the next kernel uses it: what comes after finish() must not remember
// the address of anything thread-local, hence two functions that are not inlined.
[[gnu::noinline]] static void run_current_body() { current_team->run_body(); }
[[gnu::noinline]] static void finish_current() { current_team->finish(); }

void run_fiber() {
  run_current_body();
  finish_current();
}

void describe_place(char* text, std::size_t size) {
  if (current_team == nullptr || current_thread == nullptr) {
    std::snprintf(text, size, "host code");
    return;
  }
  std::snprintf(text, size, "kernel '%s', block %u, thread %u", current_team->kernel().name.c_str(), blockIdx.x,
                threadIdx.x);
}

bool is_stack_overflow(const void* address) {
  return current_thread != nullptr && current_thread->fiber->overflown_at(address);
}

void block_barrier() { team("__syncthreads").wait_for_block(); }
void cluster_sync() { team("cluster_sync").wait_for_cluster(); }
unsigned char* shared_memory() { return team("shared_memory").shared(); }
unsigned cluster_size() { return team("cluster_size").kernel().cluster; }

unsigned cluster_rank() {
  static_cast<void>(team("cluster_rank"));
  return current_thread->block->rank;
}

void* shared_of(void* mine, unsigned rank) { return team("shared_of").shared_of(mine, rank); }

std::uint64_t exchange(WarpOperation operation, unsigned mask, std::uint64_t value, unsigned source) {
  return team("a warp operation").exchange(operation, mask, value, source);
}

unsigned lane() {
  static_cast<void>(team("a warp operation"));
  return current_thread->lane;
}

unsigned active_lanes() {
  static_cast<void>(team("__activemask"));
  return current_thread->warp->present;
}

void fence() {
#ifndef CUDA_EMULATOR_TSAN  // which does not know fences
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
  if (current_thread != nullptr) current_thread->fenced = true;
}

bool fenced() { return current_thread == nullptr || current_thread->fenced; }

void maybe_switch() {
  if (current_team != nullptr && current_team->tosses(kAtomicsPerSwitch)) current_team->nap(0);
}

std::uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000U + static_cast<std::uint64_t>(now.tv_nsec);
}

void nap(unsigned ns) { team("nap").nap(ns); }

void report_misaligned(const void* address, std::size_t size) {
  char place[128];
  describe_place(place, sizeof place);
  report("%s: address %p is not aligned to %zu bytes", place, address, size);
}

}  // namespace cuda_emulator

// glibc declares these names and keeps its own to itself.
extern "C" {
float __expf(float x) noexcept { return std::exp(x); }
float __exp10f(float x) noexcept { return std::pow(10.0F, x); }
float __logf(float x) noexcept { return std::log(x); }
float __log2f(float x) noexcept { return std::log2(x); }
float __powf(float x, float y) noexcept { return std::pow(x, y); }
}
