// SPDX-License-Identifier: Apache-2.0
#include "kernels/logits.hpp"

namespace tokavg_bench {
namespace {

constexpr std::int64_t kVocabularies[] = {32000, 128256};
constexpr std::size_t kYardstickStep = 1024;  // see Yardsticks::read

std::size_t whole_steps(std::size_t bytes) { return bytes / kYardstickStep * kYardstickStep; }

void add_yardsticks(const Plan& plan, Dtype dtype, const std::string& vocab, const std::shared_ptr<Logits>& logits) {
  const std::string type = name_of(dtype);
  const Yardsticks& yardsticks = *plan.yardsticks;
  add({"cross_entropy", "read", type, vocab}, [logits, read = yardsticks.read](benchmark::State& state) {
    const Buffer& buffer = logits->original();
    const std::size_t bytes = whole_steps(buffer.bytes());
    for (auto _ : state) {
      benchmark::DoNotOptimize(read(buffer.data(), bytes));
    }
    set_size(state, bytes, static_cast<std::int64_t>(bytes / size_of(logits->dtype())));
  });
  // With a fresh copy as for the gradient, so that the caches hold the same when the time begins.
  add({"cross_entropy", "read_write", type, vocab},
      [logits, read_write = yardsticks.read_write](benchmark::State& state) {
        const std::size_t bytes = whole_steps(logits->original().bytes());
        for (auto _ : state) {
          state.PauseTiming();
          void* data = logits->copy().data();
          state.ResumeTiming();
          read_write(data, bytes, 1);
        }
        set_size(state, bytes, static_cast<std::int64_t>(bytes / size_of(logits->dtype())));
      });
}

// In the first-level cache: what the arithmetic of the exponential alone takes.
void add_exp(const Plan& plan, Dtype dtype) {
  constexpr std::size_t kFloats = 2048;
  add({"cross_entropy", "exp", name_of(dtype), "2048"}, [exp = plan.yardsticks->exp](benchmark::State& state) {
    const Buffer from(kFloats * sizeof(float));
    const Buffer to(kFloats * sizeof(float));
    Random random(4);
    for (std::size_t i = 0; i < kFloats; ++i) {
      from.as<float>()[i] = random.nearly_normal() - 4.0F;
    }
    for (auto _ : state) {
      exp(from.as<float>(), to.as<float>(), kFloats);
      benchmark::ClobberMemory();
    }
    set_size(state, 2 * kFloats * sizeof(float), static_cast<std::int64_t>(kFloats));
  });
}

void add_vocab(const Plan& plan, Dtype dtype, std::int64_t vocab) {
  const std::int64_t rows = plan.rows(vocab, size_of(dtype));
  const auto logits = std::make_shared<Logits>(dtype, static_cast<std::size_t>(rows * vocab) * size_of(dtype));
  const std::string type = name_of(dtype);
  const std::string size = std::to_string(vocab);
  const Body forward = [=](benchmark::State& state) { Rows(rows, vocab).time_forward(state, *logits); };
  add({"cross_entropy", "forward", type, size}, forward);
  // The other half of an A/A pair: how far equal benchmarks are apart is noise.
  if (vocab == kVocabularies[0]) {
    add({"cross_entropy", "forward_again", type, size}, forward);
  }
  add({"cross_entropy", "gradient", type, size},
      [=](benchmark::State& state) { Rows(rows, vocab).time_gradient(state, *logits); });
  add_yardsticks(plan, dtype, size, logits);
}

}  // namespace

void add_cross_entropy(const Plan& plan) {
  for (const Dtype dtype : {Dtype::kF32, Dtype::kBf16, Dtype::kF16}) {
    for (const std::int64_t vocab : kVocabularies) {
      add_vocab(plan, dtype, vocab);
    }
    add_exp(plan, dtype);
  }
}

void add_threads(const Plan& plan) {
  constexpr std::int64_t kVocab = 32000;
  const std::int64_t rows = plan.rows(kVocab, sizeof(float));
  const auto logits = std::make_shared<Logits>(Dtype::kF32, static_cast<std::size_t>(rows * kVocab) * sizeof(float));
  for (const std::int32_t threads : {1, 2}) {
    add({"threads", "forward", "f32", std::to_string(threads)},
        [=](benchmark::State& state) { Rows(rows, kVocab, threads).time_forward(state, *logits); });
  }
}

}  // namespace tokavg_bench
