// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <functional>

namespace cuda_emulator {

// Work of a NCCL call in two parts, so that one thread can do it for several ranks: all first parts of a group come
// before the second ones, and only those wait for other ranks. Outside of a group both run at once.
struct GroupJob {
  std::function<ncclResult_t()> begin;
  std::function<ncclResult_t()> finish;
};

ncclResult_t run_or_collect(GroupJob job);
void start_group();
ncclResult_t end_group();

}  // namespace cuda_emulator
