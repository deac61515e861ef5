// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "device/cuda/gpu.hpp"
#include "device/message_box.hpp"

// Streams that wait for the host: never for ever.
namespace tokavg::cuda {

__device__ inline std::uint64_t relaxed_load(const std::uint64_t* word) {
#if defined(__CUDA_ARCH__)
  return *static_cast<const volatile std::uint64_t*>(word);
#else
  return __atomic_load_n(word, __ATOMIC_RELAXED);
#endif
}

__device__ inline void relaxed_store(std::uint64_t* word, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  *static_cast<volatile std::uint64_t*>(word) = value;
#else
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
#endif
}

// The host watches the deadline and ends the wait by a word, at the latest 0.1 s after it (for it also asks which ranks
// are missing); this is for a host that does not even do that.
inline constexpr std::int64_t kGraceMs = 95;

// True when *word has reached `value`; false when the context has failed, or nothing came within the deadline.
__device__ inline bool wait_for_host(const std::uint64_t* word, std::uint64_t value, const StreamControl& control,
                                     std::int64_t timeout_ms) {
  const std::uint64_t begin = nanoseconds();
  const std::uint64_t patience = static_cast<std::uint64_t>(timeout_ms + kGraceMs) * 1000000U;
  for (;;) {
    if (load_from_host(word) >= value) return true;
    if (load_from_host(&control.failed) != 0) return false;
    if (nanoseconds() - begin > patience) return false;
    nap(200);
  }
}

// A box is written to again only when the host is done with what it held: the replay of a graph may come early. The
// host is told, for its deadline runs while somebody waits.
__device__ inline void wait_until_free(const MessageHeader& header, StreamControl* control, std::int64_t timeout_ms) {
  const std::uint64_t held = relaxed_load(&header.begun);
  if (load_from_host(&header.done) >= held) return;
  if (load_from_host(&control->asked) < held) store_to_host(&control->asked, held);
  static_cast<void>(wait_for_host(&header.done, held, *control, timeout_ms));
}

}  // namespace tokavg::cuda
