// SPDX-License-Identifier: Apache-2.0
// Scaling before backward: the counts are summed over the ranks while the forward passes run.
// mpicxx -std=c++20 pre_scaling.cpp -ltokavg -o pre_scaling; mpiexec -n 4 ./pre_scaling
#include <array>
#include <cstddef>
#include <cstdint>
#include <tokavg/tokavg.hpp>
#include <vector>

#include "check.hpp"

constexpr std::size_t kMicrobatches = 2;
constexpr std::size_t kTokens = 4;
// A model of one weight w: the loss of a token is w * label, so that its slope is loss / w.
constexpr double w = 0.5;

// Rank 0 scores 1 token of a microbatch, rank 1 two, ...: the ranks are uneven, as with real text.
std::int32_t label(std::size_t rank, std::size_t m, std::size_t t) {
  return t <= rank % kTokens ? static_cast<std::int32_t>(1 + m + t) : -100;
}

void train(std::size_t rank, std::size_t ranks) {
  tokavg::Context context(tokavg::mpi(MPI_COMM_WORLD), {.gradient = tokavg::Gradient::mean});

  std::array<std::array<std::int32_t, kTokens>, kMicrobatches> data{};
  std::vector<tokavg::Labels> labels;
  for (std::size_t m = 0; m < kMicrobatches; ++m) {
    for (std::size_t t = 0; t < kTokens; ++t) data[m][t] = label(rank, m, t);
    labels.push_back(tokavg::Labels::row_of(data[m]));
    context.count(labels.back());
  }
  const tokavg::Ticket step = context.reduce();  // returns at once

  double gradient = 0;
  for (std::size_t m = 0; m < kMicrobatches; ++m) {
    std::array<double, kTokens> losses{};
    for (std::size_t t = 0; t < kTokens; ++t) losses[t] = w * data[m][t];  // forward; the counts are summed meanwhile
    const tokavg::Recorded loss = context.loss(step, {.losses = losses, .labels = labels[m]});
    gradient += loss.backward / w;  // loss.backward is what to call backward on
  }
  MPI_Allreduce(MPI_IN_PLACE, &gradient, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  gradient /= static_cast<double>(ranks);  // this trainer averages gradients, as DDP does: tokavg::Gradient::mean
  context.flush();                         // to read the mean loss now; else the next reduce brings it
  const double mean_loss = context.wait(step, tokavg::Wait::loss).result.mean_loss[0];

  double sum = 0;  // one process that has all the data
  double tokens = 0;
  for (std::size_t i = 0; i < ranks * kMicrobatches * kTokens; ++i) {
    const std::int32_t y = label(i / kTokens / kMicrobatches, i / kTokens % kMicrobatches, i % kTokens);
    if (y != -100) sum += y, tokens += 1;
  }
  check_number("mean loss", mean_loss, w * sum / tokens);
  check_number("gradient", gradient, sum / tokens);
  context.finalize();
}

int main(int argc, char** argv) { return run_on_mpi(argc, argv, train); }
