// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/nccl_group.hpp"

#include <utility>
#include <vector>

namespace cuda_emulator {
namespace {

thread_local int depth = 0;
thread_local std::vector<GroupJob> jobs;

}  // namespace

ncclResult_t run_or_collect(GroupJob job) {
  if (depth > 0) {
    jobs.push_back(std::move(job));
    return ncclSuccess;
  }
  const ncclResult_t begun = job.begin();
  return begun != ncclSuccess || job.finish == nullptr ? begun : job.finish();
}

void start_group() { ++depth; }

ncclResult_t end_group() {
  if (depth == 0) return ncclInvalidUsage;
  if (--depth > 0) return ncclSuccess;
  const std::vector<GroupJob> all = std::exchange(jobs, {});
  ncclResult_t first_error = ncclSuccess;
  const auto note = [&](ncclResult_t result) {
    if (first_error == ncclSuccess) first_error = result;
    return result == ncclSuccess;
  };
  std::vector<const GroupJob*> begun;
  for (const GroupJob& job : all) {
    if (note(job.begin()) && job.finish != nullptr) begun.push_back(&job);
  }
  for (const GroupJob* job : begun) note(job->finish());
  return first_error;
}

}  // namespace cuda_emulator
