// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "contract/memory.hpp"

namespace contract {

// A rank's data on a GPU: rank r on device r modulo their number, with a stream of its own.
std::unique_ptr<Memory> cuda_memory(int rank);

}  // namespace contract
