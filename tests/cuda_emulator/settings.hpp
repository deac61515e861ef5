// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace cuda_emulator {

// From the environment at first, then from control.h.
struct Settings {
  std::atomic<std::uint64_t> seed;
  std::atomic<int> devices;
  std::atomic<int> capability;  // 10 * major + minor
  std::atomic<unsigned> longest_pause_us;
  std::atomic<bool> check_order;
};

inline constexpr int kMostDevices = 64;

Settings& settings();

void reseed(std::uint64_t seed);

// A new seed for each use, all of them decided by the setting and by how many were asked for before.
std::uint64_t next_seed();

}  // namespace cuda_emulator
