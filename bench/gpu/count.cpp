// SPDX-License-Identifier: Apache-2.0
#include "gpu/contest.hpp"
#include "gpu/groups.hpp"
#include "gpu/yardsticks.hpp"

namespace tokavg_bench {
namespace {

void add_type(const Plan& plan, const char* type, std::int32_t dtype, std::size_t size, const DeviceBuffer& labels,
              Contest& contest) {
  const std::int64_t n = plan.choose<std::int64_t>(std::int64_t{128} << 20, std::int64_t{16} << 20, 4096);
  const std::size_t bytes = static_cast<std::size_t>(n) * size;
  const std::string end = std::string("/") + type + "/128Mi";
  const tokavg_labels_t view = labels_on_gpu(labels, dtype, 1, n);
  contest.add_twice({"count/count" + end, bytes, n, [=] { plan.rank->count(view, *plan.stream); }, {}});
  auto* sum = reinterpret_cast<std::uint32_t*>(labels.as<std::byte>() + labels.bytes() - 16);
  contest.add({"count/read" + end,
               bytes,
               n,
               [=, data = labels.data()] { launch_read(data, bytes, sum, plan.stream->get()); },
               {}});
  // Reads and writes half as much each.
  contest.add({"count/copy" + end,
               bytes,
               n,
               [=, from = labels.as<std::byte>()] {
                 must(cudaMemcpyAsync(from + bytes / 2, from, bytes / 2, cudaMemcpyDeviceToDevice, plan.stream->get()),
                      "cudaMemcpyAsync");
               },
               {}});
}

}  // namespace

void run_count(const Plan& plan) {
  const std::int64_t n = plan.choose<std::int64_t>(std::int64_t{128} << 20, std::int64_t{16} << 20, 4096);
  const Buffer pattern(plan.choose<std::size_t>(8 << 20, 8 << 20, 4096));
  fill_labels(pattern, 32000);
  const DeviceBuffer labels(pattern, static_cast<std::size_t>(n) * sizeof(std::int64_t) + 16, *plan.stream);
  Contest contest(*plan.stream, *plan.results);
  add_type(plan, "i64", TOKAVG_DTYPE_I64, sizeof(std::int64_t), labels, contest);
  add_type(plan, "i32", TOKAVG_DTYPE_I32, sizeof(std::int32_t), labels, contest);
  contest.run(plan.rounds());
  (void)plan.rank->reduce(*plan.stream);  // closes the step that all of it was counted into
}

}  // namespace tokavg_bench
