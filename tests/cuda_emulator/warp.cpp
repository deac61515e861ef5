// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "cuda_emulator/report.hpp"
#include "cuda_emulator/sanitizers.hpp"
#include "cuda_emulator/team.hpp"

// Operations of a warp: the last lane to arrive works out the result of all.
namespace cuda_emulator {
namespace {

// What CUDA leaves open: the value of a lane that does not take part.
constexpr std::uint64_t kUndefined = 0xCDCDCDCDCDCDCDCDU;

template <typename Combine>
std::uint64_t fold(const Warp& warp, unsigned mask, Combine combine) {
  std::uint64_t result = warp.lanes[static_cast<unsigned>(std::countr_zero(mask))]->value;
  for (unsigned rest = mask & (mask - 1); rest != 0; rest &= rest - 1) {
    result = combine(result, warp.lanes[static_cast<unsigned>(std::countr_zero(rest))]->value);
  }
  return result;
}

std::uint64_t ballot(const Warp& warp, unsigned mask) {
  std::uint64_t votes = 0;
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    votes |= warp.lanes[lane]->value << lane;
  }
  return votes;
}

std::uint64_t common_result(const Warp& warp, WarpOperation operation, unsigned mask) {
  using Bits = std::uint64_t;
  const auto as_signed = [](Bits bits) { return static_cast<std::int64_t>(bits); };
  switch (operation) {
    case WarpOperation::kBallot: return ballot(warp, mask);
    case WarpOperation::kAdd: return fold(warp, mask, [](Bits a, Bits b) { return a + b; });
    case WarpOperation::kMax: return fold(warp, mask, [](Bits a, Bits b) { return std::max(a, b); });
    case WarpOperation::kMin: return fold(warp, mask, [](Bits a, Bits b) { return std::min(a, b); });
    case WarpOperation::kMaxSigned:
      return fold(warp, mask, [&](Bits a, Bits b) { return as_signed(a) < as_signed(b) ? b : a; });
    case WarpOperation::kMinSigned:
      return fold(warp, mask, [&](Bits a, Bits b) { return as_signed(b) < as_signed(a) ? b : a; });
    default: return 0;
  }
}

void shuffle_all(const Warp& warp, unsigned mask) {
  std::array<std::uint64_t, 32> sent;
  sent.fill(kUndefined);
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1U) != 0) sent[lane] = warp.lanes[lane]->value;
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1U) != 0) warp.lanes[lane]->value = sent[warp.lanes[lane]->source % 32];
  }
}

PendingWarpOperation& find_or_add(Warp& warp, WarpOperation operation, unsigned mask) {
  for (PendingWarpOperation& pending : warp.pending) {
    if (pending.operation == operation && pending.mask == mask) return pending;
  }
  if (operation == WarpOperation::kSync) warp.next_phase ^= 1;
  return warp.pending.emplace_back(PendingWarpOperation{operation, mask, 0, warp.next_phase});
}

}  // namespace

void Team::complete(Warp& warp, const PendingWarpOperation& pending) {
  if (pending.operation == WarpOperation::kShuffle) {
    shuffle_all(warp, pending.mask);
  } else if (pending.operation != WarpOperation::kSync) {
    const std::uint64_t result = common_result(warp, pending.operation, pending.mask);
    for (unsigned rest = pending.mask; rest != 0; rest &= rest - 1) {
      warp.lanes[static_cast<unsigned>(std::countr_zero(rest))]->value = result;
    }
  }
  for (unsigned rest = pending.mask; rest != 0; rest &= rest - 1) {
    runnable_.push_back(warp.lanes[static_cast<unsigned>(std::countr_zero(rest))]);
  }
}

std::uint64_t Team::exchange(WarpOperation operation, unsigned mask, std::uint64_t value, unsigned source) {
  CudaThread& thread = *current_thread;
  Warp& warp = *thread.warp;
  const unsigned mine = 1U << thread.lane;
  if ((mask & mine) == 0 || (mask & ~warp.present) != 0) {
    report(
        "kernel '%s', block %u, thread %u: mask %08x of a warp operation names lanes that do not take part (lanes "
        "there: %08x, own: %u)",
        kernel_.name.c_str(), thread.block->index.x, thread.index.x, mask, warp.present, thread.lane);
  }
  PendingWarpOperation& pending = find_or_add(warp, operation, mask);
  const void* phase = operation == WarpOperation::kSync ? &warp.phases[pending.phase] : nullptr;
  if (phase != nullptr) order_before(phase);
  thread.value = value;
  thread.source = source;
  pending.arrived |= mine;
  if (pending.arrived == mask) {
    const PendingWarpOperation completed = pending;
    std::swap(pending, warp.pending.back());
    warp.pending.pop_back();
    complete(warp, completed);
  }
  leave();
  if (phase != nullptr) order_after(phase);
  return thread.value;
}

}  // namespace cuda_emulator
