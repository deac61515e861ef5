// SPDX-License-Identifier: Apache-2.0
// Losses, scaling, and calls on so little that the call itself is what takes time.
#include <array>
#include <memory>

#include "kernels/logits.hpp"
#include "kernels/tokens.hpp"

namespace tokavg_bench {
namespace {

// By -1/N with N = 1: the values keep their size, and nothing can be left out because the factor is 1.
void time_scale(benchmark::State& state, const Buffer& buffer) {
  const Context context;
  const std::array<std::int64_t, 1> label = {0};
  context.count(labels_of(label.data(), 1, 1));
  const tokavg_ticket_t ticket = context.reduce();
  context.wait(ticket);
  tokavg_scale_item_t item{};
  item.data = buffer.data();
  item.count = static_cast<std::int64_t>(buffer.bytes() / sizeof(float));
  item.dtype = TOKAVG_DTYPE_F32;
  tokavg_scale_t scale{};
  scale.struct_size = sizeof scale;
  scale.item_size = sizeof item;
  scale.items = &item;
  scale.n_items = 1;
  scale.kind = TOKAVG_FACTOR_REPORT;
  scale.factor = -1;
  for (auto _ : state) {
    context.scale(ticket, scale);
  }
  set_size(state, buffer.bytes(), item.count);
}

}  // namespace

void add_loss() {
  constexpr std::int64_t kLosses = 65536;
  const std::string size = std::to_string(kLosses);
  add({"loss", "loss", "f32", size}, [](benchmark::State& state) { time_loss(state, kLosses); });
  add({"loss", "plain_sum", "f32", size}, [](benchmark::State& state) { time_plain_sum(state, kLosses); });
}

void add_scale(const Plan& plan) {
  const auto values = std::make_shared<Logits>(Dtype::kF32, std::size_t{64} << 20);
  add({"scale", "scale", "f32", "64MiB"}, [values](benchmark::State& state) { time_scale(state, values->original()); });
  add({"scale", "read_write", "f32", "64MiB"},
      [values, read_write = plan.yardsticks->read_write](benchmark::State& state) {
        const Buffer& buffer = values->original();
        for (auto _ : state) {
          read_write(buffer.data(), buffer.bytes(), std::uint64_t{1} << 63);
        }
        set_size(state, buffer.bytes(), static_cast<std::int64_t>(buffer.bytes() / sizeof(float)));
      });
}

void add_tiny() {
  constexpr std::int64_t kVocab = 256;
  add({"tiny", "count", "i64", "64"}, [](benchmark::State& state) { time_count(state, 64); });
  add({"tiny", "loss", "f32", "256"}, [](benchmark::State& state) { time_loss(state, 256); });
  const auto logits = std::make_shared<Logits>(Dtype::kF32, static_cast<std::size_t>(kVocab) * sizeof(float));
  add({"tiny", "cross_entropy", "f32", std::to_string(kVocab)},
      [logits](benchmark::State& state) { Rows(1, kVocab).time_forward(state, *logits); });
}

}  // namespace tokavg_bench
