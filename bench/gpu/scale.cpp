// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "gpu/contest.hpp"
#include "gpu/groups.hpp"

namespace tokavg_bench {
namespace {

// 100 gradients of a model: half of them weights of a normalisation, half of them matrices.
std::vector<tokavg_scale_item_t> make_items(const DeviceBuffer& gradients, std::int64_t small, std::int64_t large) {
  std::vector<tokavg_scale_item_t> items;
  auto* at = gradients.as<std::uint16_t>();
  for (int i = 0; i < 100; ++i) {
    const std::int64_t count = i % 2 == 0 ? small : large;
    items.push_back({at, count, TOKAVG_DTYPE_BF16, TOKAVG_MEMORY_CUDA});
    at += count;
  }
  return items;
}

}  // namespace

void run_scale(const Plan& plan) {
  const std::int64_t small = plan.choose<std::int64_t>(4096, 4096, 8);
  const std::int64_t large = plan.choose<std::int64_t>(std::int64_t{10} << 20, std::int64_t{1} << 20, 64);
  const std::int64_t n = 50 * (small + large);
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(std::uint16_t);
  const Buffer pattern(plan.choose<std::size_t>(8 << 20, 8 << 20, 4096));
  fill_logits(pattern, Dtype::kBf16);
  const DeviceBuffer gradients(pattern, bytes, *plan.stream);
  const DeviceBuffer other(bytes);
  const std::vector<tokavg_scale_item_t> items = make_items(gradients, small, large);

  // A step of 4 tokens: each call multiplies by 1/4 and by 4.
  const Buffer four(4 * sizeof(std::int64_t));
  const DeviceBuffer labels(four, four.bytes(), *plan.stream);
  plan.rank->count(labels_on_gpu(labels, TOKAVG_DTYPE_I64, 1, 4), *plan.stream);
  const tokavg_ticket_t ticket = plan.rank->reduce(*plan.stream);
  tokavg_scale_t scale{};
  scale.struct_size = sizeof scale;
  scale.item_size = sizeof(tokavg_scale_item_t);
  scale.items = items.data();
  scale.n_items = static_cast<std::int64_t>(items.size());
  scale.kind = TOKAVG_FACTOR_SCALE;
  scale.factor = 4;

  Contest contest(*plan.stream, *plan.results);
  contest.add_twice({"scale/scale/bf16/100", 2 * bytes, n, [&] { plan.rank->scale(ticket, scale, *plan.stream); }, {}});
  contest.add({"scale/copy/bf16/100", 2 * bytes, n, [&] { other.copy_from(gradients, bytes, *plan.stream); }, {}});
  contest.run(plan.rounds());
}

}  // namespace tokavg_bench
