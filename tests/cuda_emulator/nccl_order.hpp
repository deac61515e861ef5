// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cuda_emulator/nccl_segment.hpp"

// NCCL's rule for several communicators on one device: all ranks issue their operations in the same order, else each
// may wait for the other. So an operation carries how many of the other communicators were issued before it.
namespace cuda_emulator {

// Before another rank can know that this one is there, so that none misses a communicator that others count.
void note_created(int device, std::uint64_t communicator);
void note_ended(int device, std::uint64_t communicator);

// Counts the operation, and writes down the others.
void note_issued(int device, std::uint64_t communicator, OperationShape* shape);

// Whether an order of two communicators differs between the two ranks that these come from.
bool same_order(const OperationShape& mine, const OperationShape& theirs);

}  // namespace cuda_emulator
