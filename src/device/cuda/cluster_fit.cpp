// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cluster_fit.hpp"

#include <compare>
#include <map>
#include <mutex>
#include <optional>

#include "base/cuda/check.hpp"
#include "device/cuda/processor.hpp"

namespace tokavg::cuda {
namespace {

struct Question {
  const void* kernel;
  int device;
  std::size_t shared_bytes;
  unsigned threads;
  unsigned cluster;
  auto operator<=>(const Question&) const = default;
};

// Never destroyed: threads may outlive static objects. Held over no call of CUDA's.
struct Answers {
  std::mutex mutex;
  std::map<Question, bool> known;
};

Answers& answers() {
  static auto* instance = new Answers;  // NOLINT(cppcoreguidelines-owning-memory)
  return *instance;
}

std::optional<bool> remembered(const Question& question) {
  const std::lock_guard lock(answers().mutex);
  const auto found = answers().known.find(question);
  return found == answers().known.end() ? std::nullopt : std::optional(found->second);
}

void allow(const void* kernel, cudaFuncAttribute what, int value) {
  check(cudaFuncSetAttribute(kernel, what, value), "cudaFuncSetAttribute");
}

}  // namespace

void allow_all(const void* kernel) {
  allow(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  allow(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}

bool cluster_fits(const void* kernel, const LaunchShape& shape) {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  const Question question{kernel, device, shape.shared_bytes, shape.threads, shape.cluster};
  if (const std::optional<bool> known = remembered(question)) return *known;
  allow_all(kernel);
  LaunchShape one = shape;
  one.blocks = shape.cluster;
  const LaunchConfig config(one, nullptr);
  int clusters = 0;
  if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &config.get()) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return false;  // not remembered: the failure may be another call's
  }
  const std::lock_guard lock(answers().mutex);
  answers().known[question] = clusters > 0;
  return clusters > 0;
}

}  // namespace tokavg::cuda
