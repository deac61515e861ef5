// SPDX-License-Identifier: Apache-2.0
#include "gpu/contest.hpp"
#include "gpu/groups.hpp"
#include "gpu/yardsticks.hpp"
#include "kernels/calls.hpp"

namespace tokavg_bench {

void run_loss(const Plan& plan) {
  const std::int64_t n = plan.choose<std::int64_t>(std::int64_t{64} << 20, std::int64_t{8} << 20, 4096);
  const auto count = static_cast<std::size_t>(n);
  const Buffer pattern(plan.choose<std::size_t>(8 << 20, 8 << 20, 4096));
  fill_logits(pattern, Dtype::kF32);
  // Losses and their labels in one buffer, so that one read is as much.
  const DeviceBuffer losses(pattern, count * (sizeof(float) + sizeof(std::int64_t)) + 16, *plan.stream);
  auto* labels = losses.as<std::byte>() + count * sizeof(float);
  must(cudaMemsetAsync(labels, 0, count * sizeof(std::int64_t), plan.stream->get()), "cudaMemsetAsync");
  tokavg_labels_t view = labels_on_gpu(losses, TOKAVG_DTYPE_I64, 1, n);
  view.labels.data = labels;
  tokavg_loss_t loss = token_losses_of(losses.as<float>(), view);
  loss.losses.memory = TOKAVG_MEMORY_CUDA;

  Contest contest(*plan.stream, *plan.results);
  const std::size_t bytes = count * (sizeof(float) + sizeof(std::int64_t));
  contest.add_twice({"loss/loss/f32/64Mi", bytes, n, [&] { plan.rank->loss(TOKAVG_OPEN, loss, *plan.stream); }, {}});
  auto* sum = reinterpret_cast<std::uint32_t*>(losses.as<std::byte>() + bytes);
  contest.add({"loss/read/f32/64Mi",
               bytes,
               n,
               [&] { launch_read(losses.data(), bytes / 16 * 16, sum, plan.stream->get()); },
               {}});
  contest.run(plan.rounds());
  (void)plan.rank->reduce(*plan.stream);
}

}  // namespace tokavg_bench
