// SPDX-License-Identifier: Apache-2.0
// Any calls of the C interface in any order, on contexts that are alone, two threads, or the caller's own transport.
#include "calls/calls.hpp"

namespace fuzz {
namespace {

Handle a_handle(Reader& in, const World& world) {
  if (!world.ranks.empty() && !in.one_in(24)) {
    Rank& rank = *world.ranks[in.below(world.ranks.size())];
    return {rank.ctx, rank.live ? &rank : nullptr};
  }
  switch (in.below(4)) {
    case 0: return {};
    case 1:
      if (!world.groups.empty()) return {reinterpret_cast<tokavg_context_t*>(world.groups.back()), nullptr};
      return {};
    case 2: return {reinterpret_cast<tokavg_context_t*>(const_cast<World*>(&world)), nullptr};
    // A context's handle has its kind, 1, in the uppermost byte.
    default:
      return {reinterpret_cast<tokavg_context_t*>(in.value<std::uintptr_t>() & ~(std::uintptr_t{255} << 56)), nullptr};
  }
}

void call(Reader& in, World& world) {
  constexpr std::size_t kMostRanks = 6;
  const std::size_t what = in.below(32);
  if (what < 2) {
    if (world.ranks.size() < kMostRanks) what == 0 ? open_alone(in, world) : open_two_threads(in, world);
    return;
  }
  const Handle handle = a_handle(in, world);
  switch (what) {
    case 2: return free_context(world, handle);
    case 3: return in.one_in(4) ? abort_context(handle) : make_and_free_groups(in, world);
    case 4: return finalize(in, world, handle);
    case 5: return read_texts(in, world, handle);
    case 6: return release(in, handle);
    case 7: return factor_device(in, handle);
    case 8:
    case 9: return factor(in, handle);
    case 10: return progress(handle);
    case 11: return flush(handle);
    case 12: return discard(handle);
    case 13:
    case 14: return count_add(in, handle);
    case 15:
    case 16: return loss(in, handle);
    case 17:
    case 18:
    case 19: return cross_entropy(in, handle);
    case 20:
    case 21: return scale(in, handle);
    case 22:
    case 23: return wait(in, world, handle);
    case 24:
    case 25: return reduce(in, handle);
    case 26:
    case 27: return whole_step(world, handle);
    default: return count(in, handle);
  }
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr int kMostCalls = 40;
  fuzz::Reader in(data, size);
  fuzz::World world;
  in.one_in(8) ? fuzz::open_two_threads(in, world) : fuzz::open_alone(in, world);
  for (int n = 0; n < kMostCalls && !in.empty(); ++n) fuzz::call(in, world);
  fuzz::end(world);
  return 0;
}
