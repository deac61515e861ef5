// SPDX-License-Identifier: Apache-2.0
// How long the host is in each call. The stream is idle when a step begins.
#include <chrono>
#include <vector>

#include "gpu/groups.hpp"
#include "kernels/calls.hpp"

namespace tokavg_bench {
namespace {

constexpr std::int64_t kRows = 3;
constexpr std::int64_t kVocab = 1000;

template <class Call>
void time(const Plan& plan, bool keep, const char* name, Call&& call) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  call();
  if (keep) {
    plan.results->add(std::string("host/") + name,
                      std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
}

tokavg_scale_t scale_of(const std::vector<tokavg_scale_item_t>& items) {
  tokavg_scale_t scale{};
  scale.struct_size = sizeof scale;
  scale.item_size = sizeof(tokavg_scale_item_t);
  scale.items = items.data();
  scale.n_items = static_cast<std::int64_t>(items.size());
  scale.kind = TOKAVG_FACTOR_REPORT;  // f itself was applied by the cross entropy
  return scale;
}

}  // namespace

void run_host(const Plan& plan) {
  const Stream& stream = *plan.stream;
  const DeviceBuffer labels(Buffer(kRows * sizeof(std::int64_t)), kRows * sizeof(std::int64_t), stream);
  const DeviceBuffer logits(Buffer(kRows * kVocab * sizeof(float)), kRows * kVocab * sizeof(float), stream);
  const tokavg_labels_t view = labels_on_gpu(labels, TOKAVG_DTYPE_I64, kRows, 1);
  tokavg_cross_entropy_t ce = cross_entropy_of(logits.data(), Dtype::kF32, kVocab, view);
  ce.logits.memory = TOKAVG_MEMORY_CUDA;
  ce.gradient_out = ce.logits;
  tokavg_cross_entropy_t found = ce;  // the library asks the driver where the arrays are
  found.logits.memory = found.gradient_out.memory = TOKAVG_MEMORY_AUTO;
  const std::vector<tokavg_scale_item_t> items(100, {logits.data(), 8, TOKAVG_DTYPE_F32, TOKAVG_MEMORY_CUDA});
  const tokavg_scale_t scale = scale_of(items);

  const Rank& rank = *plan.rank;
  for (int i = -5; i < plan.choose(200, 50, 2); ++i) {
    tokavg_ticket_t ticket = 0;
    stream.wait();
    time(plan, i >= 0, "count", [&] { rank.count(view, stream); });
    time(plan, i >= 0, "reduce", [&] { ticket = rank.reduce(stream); });
    time(plan, i >= 0, "factor_device", [&] { (void)rank.factor(ticket, stream); });
    time(plan, i >= 0, "cross_entropy", [&] { rank.cross_entropy(ticket, ce, stream); });
    time(plan, i >= 0, "cross_entropy_memory_auto", [&] { rank.cross_entropy(ticket, found, stream); });
    time(plan, i >= 0, "scale_100", [&] { rank.scale(ticket, scale, stream); });
    time(plan, i >= 0, "flush", [&] { rank.flush(stream); });
    stream.wait();
    time(plan, i >= 0, "wait_when_there", [&] { rank.wait(ticket, TOKAVG_WAIT_LOSS); });
  }
}

}  // namespace tokavg_bench
