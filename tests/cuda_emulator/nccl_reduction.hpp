// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <cstddef>

namespace cuda_emulator {

// 0: not one that the emulator knows.
std::size_t size_of(ncclDataType_t datatype);
const char* name_of(ncclDataType_t datatype);
const char* name_of_reduction(int reduction);

// into[i] = into[i] (op) from[i], rounded to the type each time.
void reduce_into(void* into, const void* from, std::size_t count, ncclDataType_t datatype, ncclRedOp_t reduction);

// values[i] *= *scalar
void multiply(void* values, const void* scalar, std::size_t count, ncclDataType_t datatype);

}  // namespace cuda_emulator
