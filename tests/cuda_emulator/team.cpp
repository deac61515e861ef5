// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/team.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "cuda_emulator/report.hpp"
#include "cuda_emulator/sanitizers.hpp"

namespace cuda_emulator {

constinit thread_local Team* current_team = nullptr;
constinit thread_local CudaThread* current_thread = nullptr;

namespace {

constexpr int kPoison = 0xCD;
constexpr std::size_t kSharedAlignment = 128;
constexpr std::size_t kCanary = 128;  // behind the shared memory of each block

std::size_t shared_stride(const Kernel& kernel) {
  return (kernel.shared_bytes + kCanary + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
}

uint3 unflatten(std::uint64_t number, const dim3& extent) {
  return {static_cast<unsigned>(number % extent.x), static_cast<unsigned>(number / extent.x % extent.y),
          static_cast<unsigned>(number / extent.x / extent.y)};
}

}  // namespace

Team::Team(const Kernel& kernel, std::uint64_t seed)
    : kernel_(kernel),
      random_(seed),
      threads_(std::size_t{kernel.block.x} * kernel.block.y * kernel.block.z * kernel.cluster),
      blocks_(kernel.cluster),
      shared_memory_(shared_stride(kernel) * kernel.cluster + kSharedAlignment),
      main_(thread_context()) {
  fibers_ = take_fibers(threads_.size());
  const std::size_t per_block = threads_.size() / kernel.cluster;
  auto shared = reinterpret_cast<std::uintptr_t>(shared_memory_.data());
  shared = (shared + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
  for (unsigned rank = 0; rank < kernel.cluster; ++rank) {
    Block& block = blocks_[rank];
    block.rank = rank;
    block.warps.resize((per_block + 31) / 32);
    block.barrier.waiting.reserve(per_block);
    for (Warp& warp : block.warps) warp.pending.reserve(32);
    block.shared = reinterpret_cast<unsigned char*>(shared) + rank * shared_stride(kernel);
    for (std::size_t i = 0; i < per_block; ++i) {
      CudaThread& thread = threads_[rank * per_block + i];
      thread.fiber = fibers_[rank * per_block + i];
      thread.block = &block;
      thread.warp = &block.warps[i / 32];
      thread.lane = i % 32;
      thread.index = unflatten(i, kernel.block);
      thread.warp->lanes[thread.lane] = &thread;
      // So that the first lanes of warps, and the first threads of blocks, are told apart.
      set_identity(thread.fiber->context(), i + i / 32 + rank);
    }
  }
  // Once, for ThreadSanitizer would take what one fiber allocates and another one frees for a race.
  for (std::vector<CudaThread*>* list : {&runnable_, &sleeping_, &cluster_barrier_.waiting}) {
    list->reserve(threads_.size());
  }
  blockDim = kernel.block;
  gridDim = kernel.grid;
  current_team = this;
}

Team::~Team() {
  current_team = nullptr;
  give_fibers_back(fibers_);
}

void Team::start_block(Block& block, std::uint64_t number) {
  block.index = unflatten(number, kernel_.grid);
  block.live = static_cast<unsigned>(threads_.size() / blocks_.size());
  for (Warp& warp : block.warps) {
    warp.present = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (warp.lanes[lane] != nullptr) warp.present |= 1U << lane;
    }
  }
  std::memset(block.shared, kPoison, kernel_.shared_bytes + kCanary);
}

void Team::start(std::uint64_t first_block) {
  for (unsigned rank = 0; rank < blocks_.size(); ++rank) start_block(blocks_[rank], first_block + rank);
  for (CudaThread& thread : threads_) {
    thread.fenced = false;
    runnable_.push_back(&thread);
  }
  live_ = threads_.size();
  order_before(&started_);
}

void Team::run_cluster(std::uint64_t first_block) {
  start(first_block);
  while (live_ > 0) {
    if (runnable_.empty() && !wake_sleepers()) report_stuck();
    switch_from(main_);
  }
  order_after(&finished_);
  current_thread = nullptr;
  for (const Block& block : blocks_) check_shared_memory(block);
}

void Team::check_shared_memory(const Block& block) {
  const unsigned char* canary = block.shared + kernel_.shared_bytes;
  for (std::size_t i = 0; i < kCanary; ++i) {
    if (canary[i] == kPoison) continue;
    report("kernel '%s', block %u: wrote %zu bytes past its %zu bytes of dynamic shared memory", kernel_.name.c_str(),
           block.index.x, i + 1, kernel_.shared_bytes);
  }
}

void Team::switch_from(Context& from) {
  if (runnable_.empty()) {
    switch_context(from, main_);
    return;
  }
  const std::size_t chosen = random_.below(runnable_.size());
  CudaThread* next = runnable_[chosen];
  runnable_[chosen] = runnable_.back();
  runnable_.pop_back();
  current_thread = next;
  threadIdx = next->index;
  blockIdx = next->block->index;
  Context& to = next->fiber->context();
  if (&to != &from) switch_context(from, to);
}

void Team::leave() { switch_from(current_thread->fiber->context()); }

void Team::run_body() {
  order_after(&started_);
  kernel_.body();
}

void Team::finish() {
  CudaThread& thread = *current_thread;
  Block& block = *thread.block;
  thread.warp->present &= ~(1U << thread.lane);
  // A block of a cluster must not exit while others read its shared memory.
  if (--block.live == 0 && blocks_.size() > 1) {
    const Unseen unseen;
    std::memset(block.shared, kPoison, kernel_.shared_bytes);
  }
  --live_;
  order_before(&finished_);
  leave();
}

void Team::arrive(Barrier& barrier, std::size_t expected) {
  const void* phase = &barrier.phases[barrier.phase];
  order_before(phase);
  barrier.waiting.push_back(current_thread);
  if (barrier.waiting.size() == expected) {
    const Unseen unseen;
    barrier.phase ^= 1;
    runnable_.insert(runnable_.end(), barrier.waiting.begin(), barrier.waiting.end());
    barrier.waiting.clear();
  }
  leave();
  order_after(phase);
}

void Team::wait_for_block() { arrive(current_thread->block->barrier, threads_.size() / blocks_.size()); }
void Team::wait_for_cluster() { arrive(cluster_barrier_, threads_.size()); }

void* Team::shared_of(void* mine, unsigned rank) {
  const Block& block = *current_thread->block;
  const std::ptrdiff_t offset = static_cast<unsigned char*>(mine) - block.shared;
  if (rank >= blocks_.size() || offset < 0 || static_cast<std::size_t>(offset) >= kernel_.shared_bytes) {
    report("kernel '%s', block %u: shared_of() block %u of %zu, byte %td of %zu", kernel_.name.c_str(), block.index.x,
           rank, blocks_.size(), offset, kernel_.shared_bytes);
  }
  return blocks_[rank].shared + offset;
}

unsigned char* Team::shared() const { return current_thread->block->shared; }

void Team::nap(std::uint64_t ns) {
  current_thread->wake_at = nanoseconds() + ns;
  sleeping_.push_back(current_thread);
  leave();
}

// Sleeps until the first of the sleeping threads is due. False: there is none.
bool Team::wake_sleepers() {
  const Unseen unseen;
  if (sleeping_.empty()) return false;
  const auto earlier = [](const CudaThread* a, const CudaThread* b) { return a->wake_at < b->wake_at; };
  const std::uint64_t due = (*std::min_element(sleeping_.begin(), sleeping_.end(), earlier))->wake_at;
  std::uint64_t now = nanoseconds();
  if (due > now) {
    const timespec rest = {static_cast<time_t>((due - now) / 1000000000U),
                           static_cast<long>((due - now) % 1000000000U)};
    nanosleep(&rest, nullptr);
    now = nanoseconds();
  }
  const auto awake = std::partition(sleeping_.begin(), sleeping_.end(),
                                    [&](const CudaThread* thread) { return thread->wake_at > std::max(now, due); });
  runnable_.insert(runnable_.end(), awake, sleeping_.end());
  sleeping_.erase(awake, sleeping_.end());
  return true;
}

void Team::report_stuck() const {
  std::size_t at_block = 0;
  std::size_t at_warp = 0;
  const Block* block = &blocks_[0];
  for (const Block& candidate : blocks_) {
    if (candidate.live > 0) block = &candidate;
    at_block += candidate.barrier.waiting.size();
    for (const Warp& warp : candidate.warps) {
      for (const PendingWarpOperation& pending : warp.pending) {
        at_warp += static_cast<std::size_t>(__popc(pending.arrived));
      }
    }
  }
  report(
      "kernel '%s', block %u: divergent barrier: %zu threads have exited, %zu wait at __syncthreads, %zu at an "
      "operation of their warp, %zu at cluster_sync",
      kernel_.name.c_str(), block->index.x, threads_.size() - live_, at_block, at_warp,
      cluster_barrier_.waiting.size());
}

}  // namespace cuda_emulator
