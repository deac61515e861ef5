// SPDX-License-Identifier: Apache-2.0
// Scaling after backward: data streams in, nobody knows how much is left, and the gradients are scaled at the end.
// mpicxx -std=c++20 post_scaling.cpp -ltokavg -o post_scaling; mpiexec -n 4 ./post_scaling
#include <array>
#include <cstddef>
#include <cstdint>
#include <tokavg/tokavg.hpp>

#include "check.hpp"

constexpr std::size_t kLongest = 8;
using Data = std::array<std::int32_t, kLongest>;
// A model of one weight w: the loss of a token is w * label, so that its slope is the label.
constexpr double w = 0.5;

// Rank r finds r microbatches of 1, 2, ... tokens; rank 0 finds none and takes part all the same.
bool next_microbatch(std::size_t rank, std::size_t m, Data& labels) {
  if (m >= rank) return false;
  for (std::size_t t = 0; t < kLongest; ++t) {
    labels[t] = t <= m % kLongest ? static_cast<std::int32_t>(1 + rank + t) : -100;
  }
  return true;
}

void train(std::size_t rank, std::size_t ranks) {
  tokavg::Context context(tokavg::mpi(MPI_COMM_WORLD), {.gradient = tokavg::Gradient::sum});

  Data data;
  std::array<double, 1> gradient{};
  for (std::size_t m = 0; next_microbatch(rank, m, data); ++m) {
    context.count(tokavg::Labels::row_of(data));
    double sum = 0;  // forward and backward of the sum: nothing is divided yet
    for (const std::int32_t y : data) sum += y == -100 ? 0 : w * y;
    gradient[0] += sum / w;
    context.loss(tokavg::kOpen, {.value = sum, .tokens = static_cast<std::int64_t>(1 + m % kLongest)});
  }
  const tokavg::Ticket step = context.reduce();  // the counts are summed while the gradients are
  MPI_Allreduce(MPI_IN_PLACE, gradient.data(), 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  context.scale(step, gradient);  // before clipping and the optimiser
  const double mean_loss = context.wait(step, tokavg::Wait::loss).result.mean_loss[0];

  double sum = 0;  // one process that has all the data
  double tokens = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    for (std::size_t m = 0; next_microbatch(r, m, data); ++m) {
      for (std::size_t t = 0; t <= m % kLongest; ++t) sum += data[t], tokens += 1;
    }
  }
  check_number("mean loss", mean_loss, tokens > 0 ? w * sum / tokens : 0);
  check_number("gradient", gradient[0], tokens > 0 ? sum / tokens : 0);
  context.finalize();
}

int main(int argc, char** argv) { return run_on_mpi(argc, argv, train); }
