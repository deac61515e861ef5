// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#ifdef TOKAVG_CUDA_EMULATOR
#include "cuda_emulator/control.h"
#endif

namespace cuda_test {

// How many calls of this process have waited for a GPU. A real runtime does not count them.
class SyncCalls {
 public:
#ifdef TOKAVG_CUDA_EMULATOR
  [[nodiscard]] std::uint64_t since() const { return cuda_emulator_synchronizations() - before_; }

 private:
  std::uint64_t before_ = cuda_emulator_synchronizations();
#else
  [[nodiscard]] std::uint64_t since() const { return 0; }
#endif
};

}  // namespace cuda_test
