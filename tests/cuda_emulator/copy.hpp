// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "cuda_emulator/stream.hpp"

namespace cuda_emulator {

// What a copy is made of, once its ends are known to be what its kind says.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t size = 0;
  int to_device = -1;  // -1: memory of the host
  int from_device = -1;
  bool to_pageable = false;
  bool from_pageable = false;
};

cudaError_t plan_copy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind, Copy* copy);

// Enqueues. `waits`: the host must not go on before it is done.
cudaError_t submit_copy(const std::shared_ptr<Stream>& stream, Copy copy, bool* waits);

cudaError_t submit_fill(const std::shared_ptr<Stream>& stream, void* to, int value, std::size_t size);

}  // namespace cuda_emulator
