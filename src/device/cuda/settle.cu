// SPDX-License-Identifier: Apache-2.0
// The sums of all ranks become factors.
#include <bit>

#include "device/cuda/gpu.hpp"
#include "device/cuda/patience.hpp"
#include "device/cuda/state.hpp"

namespace tokavg::cuda {
namespace {

// Whether the step may be used: what core finds wrong in a message, the host will name (core/receive.cpp).
__device__ bool is_sound(const std::uint64_t* words, const AwaitTask& task) {
  const std::uint64_t* failed = words + kFailedAt;
  if (failed[0] != 0) return false;
  const auto places = sums_of_places(failed, task.rule.ranks);
  const std::uint64_t roll = task.slot->roll;
  for (std::size_t i = 0; i < kRollWords; ++i) {
    if (words[kRollAt + i] != places[i] * roll) return false;
  }
  if (words[kCopiesAt] != 0) return false;
  for (std::size_t t = 0; t < static_cast<std::size_t>(task.layout.terms); ++t) {
    TermCounts counts;
    const TermFaults faults = get_counts(words + task.layout.term_at(t), counts);
    const bool bad = words[task.layout.term_at(t) + kBadWeightsAt] != 0;
    if (faults.too_many_tokens || faults.weights_too_large || bad) return false;
  }
  return true;
}

__device__ void put_factor(StepSlot& slot, unsigned term, int kind, double factor) {
  slot.factors[term][kind - 1] = factor;
  slot.rounded_factors[term][kind - 1] = static_cast<float>(factor);
}

__device__ void put_factors(const std::uint64_t* words, const AwaitTask& task, bool sound, unsigned term) {
  StepSlot& slot = *task.slot;
  if (!sound) {  // visible, never silently unscaled
    const double nan = std::bit_cast<double>(std::uint64_t{0x7ff8000000000000U});
    for (int kind = 1; kind <= kFactorKinds; ++kind) put_factor(slot, term, kind, nan);
    return;
  }
  TermCounts counts;
  static_cast<void>(get_counts(words + task.layout.term_at(term), counts));
  const FactorRule& rule = task.rule.factors;
  const double z = rule.divisor(counts, counts.weight_sum());
  const double a = slot.accumulation_divisor;
  put_factor(slot, term, TOKAVG_FACTOR_SCALE, rule.scale(z, a));
  put_factor(slot, term, TOKAVG_FACTOR_REPORT, FactorRule::report(z));
  put_factor(slot, term, TOKAVG_FACTOR_MICROBATCH, rule.microbatch(words[kMicrobatchesAt], a));
}

// Words that decide over the factors, nearer than the host's memory.
__device__ unsigned head_words(const MessageLayout& layout) {
  return static_cast<unsigned>(layout.term_at(static_cast<std::size_t>(layout.terms)));
}

constexpr unsigned kMostHeadWords = kHeaderWords + kTermWords * TOKAVG_MAX_TERMS;

__global__ void await_kernel(AwaitTask task) {
  __shared__ std::uint64_t words[kMostHeadWords];
  __shared__ bool sound;
  // Written by earlier work of the stream alone, so all threads see the same.
  const std::uint64_t message = task.slot->message;
  if (task.slot->settled == message) return;
  __syncthreads();  // nobody writes it before all have read it
  if (threadIdx.x == 0) {
    store_to_host(&task.control->asked, message);
    sound = wait_for_host(&task.box.header->done, message, *task.control, task.rule.timeout_ms);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < head_words(task.layout); i += blockDim.x)
    words[i] = relaxed_load(&task.box.sums[i]);
  __syncthreads();
  if (threadIdx.x == 0) sound = sound && is_sound(words, task);
  __syncthreads();
  if (threadIdx.x < static_cast<unsigned>(task.layout.terms)) put_factors(words, task, sound, threadIdx.x);
  if (threadIdx.x == 0) task.slot->settled = message;
}

__global__ void ask_kernel(const StepSlot* slot, StreamControl* control) {
  store_to_host(&control->asked, slot->message);
}

__global__ void settle_kernel(AwaitTask task) {
  __shared__ bool sound;
  if (threadIdx.x == 0) {
    const bool summed = load_from_host(&task.control->failed) == 0;  // else the sum was given up
    sound = summed && task.slot != nullptr && is_sound(task.box.words, task);
  }
  const auto n_words = static_cast<unsigned>(task.layout.words());
  for (unsigned i = threadIdx.x; i < n_words; i += blockDim.x) relaxed_store(&task.box.sums[i], task.box.words[i]);
  __threadfence_system();
  __syncthreads();
  if (task.slot != nullptr && threadIdx.x < static_cast<unsigned>(task.layout.terms)) {
    put_factors(task.box.words, task, sound, threadIdx.x);
  }
  // Also of a sum that was given up: the box is at rest, and the host will not believe it (core/stream_messenger.cpp).
  if (threadIdx.x == 0) store_to_host(&task.box.header->done, relaxed_load(&task.box.header->begun));
}

constexpr LaunchShape kOneBlock{.threads = 128};

}  // namespace

void launch_await(const AwaitTask& task, cudaStream_t stream) {
  launch("await_kernel", kOneBlock, stream, await_kernel, task);
}

void launch_ask(const StepSlot* slot, StreamControl* control, cudaStream_t stream) {
  launch("ask_kernel", {}, stream, ask_kernel, slot, control);
}

void launch_settle(const AwaitTask& task, cudaStream_t stream) {
  launch("settle_kernel", kOneBlock, stream, settle_kernel, task);
}

}  // namespace tokavg::cuda
