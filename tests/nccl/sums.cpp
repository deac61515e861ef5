// SPDX-License-Identifier: Apache-2.0
// Sums of host words over a lent, a split and an own communicator.
#include <cuda_runtime_api.h>

#include <nlohmann/json.hpp>

#include "nccl/ranks.hpp"

namespace {

using namespace nccl_test;
using tokavg::Reduction;
using tokavg::Transport;

void one_after_the_other(Rank& rank) {
  const std::unique_ptr<Transport> transport = rank.open();
  if (transport == nullptr) return;
  rank.expect(transport->rank() == rank.rank && transport->ranks() == rank.ranks, "rank and ranks");
  for (std::size_t i = 0; i < 20; ++i) rank.good_sum(*transport, 1 + 25 * i);
  transport->close();
}

// Started in order, asked after in another.
void several_at_once(Rank& rank) {
  constexpr std::size_t kSums = 32;
  const std::unique_ptr<Transport> transport = rank.open();
  if (transport == nullptr) return;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::vector<std::uint64_t>> words;
    std::vector<std::unique_ptr<Reduction>> sums;
    for (std::size_t i = 0; i < kSums; ++i) words.emplace_back(100, i);
    for (auto& w : words) sums.push_back(transport->start(w));
    for (std::size_t i = kSums; i-- > 0;) {
      rank.expect(wait_for(*sums[i]), "not complete");
      rank.expect(words[i][99] == i * static_cast<std::uint64_t>(rank.ranks), "a sum is wrong");
    }
  }
  transport->close();
}

void two_lives(Rank& rank) {
  for (int life = 0; life < 2; ++life) {
    const std::unique_ptr<Transport> transport = rank.open();
    if (transport == nullptr) return;
    rank.good_sum(*transport);
    transport->close();
  }
}

// The communicator that was lent is the caller's again.
void lent_after_close(Rank& rank) {
  one_after_the_other(rank);
  if (rank.lent == nullptr) return;
  void* word = nullptr;
  cudaStream_t stream = nullptr;
  rank.expect(cudaMalloc(&word, 8) == cudaSuccess && cudaStreamCreateWithFlags(&stream, 0) == cudaSuccess, "GPU");
  const std::uint64_t one = 1;
  cudaMemcpyAsync(word, &one, 8, cudaMemcpyHostToDevice, stream);
  rank.expect(ncclAllReduce(word, word, 1, ncclUint64, ncclSum, rank.lent, stream) == ncclSuccess, "ncclAllReduce");
  std::uint64_t sum = 0;
  cudaMemcpyAsync(&sum, word, 8, cudaMemcpyDeviceToHost, stream);
  rank.expect(cudaStreamSynchronize(stream) == cudaSuccess && sum == static_cast<std::uint64_t>(rank.ranks), "sum");
  cudaStreamDestroy(stream);
  cudaFree(word);
}

void describes(Rank& rank) {
  const std::unique_ptr<Transport> transport = rank.open();
  if (transport == nullptr) return;
  const auto facts = nlohmann::json::parse(transport->describe(), nullptr, false);
  rank.expect(facts.is_object() && facts["transport"] == "nccl", "transport");
  rank.expect(facts["communicator"] == name_of(rank.way), "communicator");
  rank.expect(facts["rank"] == rank.rank && facts["ranks"] == rank.ranks && facts["device"] == rank.rank, "numbers");
  rank.expect(facts["version"].is_string() && facts["library"].is_string(), "version and library");
  const auto& bootstrap = facts["bootstrap"];
  rank.expect(rank.way == Way::kOwn ? bootstrap["transport"] == "threads" : bootstrap.is_null(), "bootstrap");
  transport->close();
}

// tokavg_free without tokavg_finalize, with nothing in flight: a lent communicator stays whole.
void left_open(Rank& rank) {
  const std::unique_ptr<Transport> transport = rank.open();
  if (transport != nullptr) rank.good_sum(*transport);
}

}  // namespace

int main() {
  int faults = 0;
  for (const Way way : kWays) {
    for (const int ranks : {1, 2, 4}) {
      faults += run("one after the other", way, ranks, one_after_the_other);
      faults += run("several at once", way, ranks, several_at_once);
    }
    faults += run("two lives", way, 2, two_lives);
    faults += run("lent after close", way, 2, lent_after_close);
    faults += run("describes", way, 4, describes);
    faults += run("left open", way, 2, left_open);
  }
  return faults == 0 ? 0 : 1;
}
