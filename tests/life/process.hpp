// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

// What this process holds of the system, as Linux counts it.
namespace life {

struct Usage {
  long memory_kib = 0;  // resident, of its own
  int threads = 0;
  int files = 0;
};

Usage usage();

// Empty, or what has grown since `before`: threads and files by one, memory by more than `most_kib`. Threads that were
// left to end by themselves get a second for it.
std::string growth_since(const Usage& before, long most_kib);

}  // namespace life
