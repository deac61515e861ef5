// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "cuda_emulator/context.hpp"

namespace cuda_emulator {

// A stack of its own on which run_fiber() runs again and again. It outlives a kernel, and another OS thread may be the
// next to switch to it.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  Context& context() { return context_; }
  bool overflown_at(const void* address) const;

 private:
  void* mapping_;
  Context context_;
};

// Lets the calling thread handle the fault of a fiber that has no stack left.
void use_alternate_signal_stack();

// Fibers that no kernel uses, shared by all streams.
std::vector<Fiber*> take_fibers(std::size_t count);
void give_fibers_back(const std::vector<Fiber*>& fibers);

}  // namespace cuda_emulator
