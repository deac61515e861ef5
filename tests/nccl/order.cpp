// SPDX-License-Identifier: Apache-2.0
// Two communicators on the same GPUs, both of the library's or one of them the caller's: the same order on all ranks is
// well, another one is an error on all of them. (The emulator sees what a GPU shows as a hang, now and then.)
#include <cuda_runtime_api.h>

#include "nccl/ranks.hpp"

namespace {

using namespace nccl_test;
using tokavg::Error;
using tokavg::Reduction;
using tokavg::Transport;

// One sum on each, in this rank's order.
std::optional<Error> sum_both(Rank& rank, Transport& first, Transport& second) {
  std::vector<std::uint64_t> a(10, 1);
  std::vector<std::uint64_t> b(10, 2);
  return tokavg::caught([&] {
    const std::unique_ptr<Reduction> one = first.start(a);
    const std::unique_ptr<Reduction> other = second.start(b);
    // Both are asked: where the other rank has given up already, one of them never ends, and the other tells why.
    const bool done = soon([&] {
      const bool one_done = one->test();
      return other->test() && one_done;
    });
    rank.expect(done, "not complete");
  });
}

void play(Rank& rank, bool differ) {
  const std::unique_ptr<Transport> one = rank.open();
  const std::unique_ptr<Transport> other = rank.open();
  if (one == nullptr || other == nullptr) return;
  const bool turned = differ && rank.rank == 1;
  const std::optional<Error> error = turned ? sum_both(rank, *other, *one) : sum_both(rank, *one, *other);
  if (differ) return rank.expect_error(error, TOKAVG_ERR_TRANSPORT, {"NCCL", "invalid usage"});
  rank.expect(!error, error ? error->text() : "");
  one->close();
  other->close();
}

// A collective of the caller's over the communicator that it lends, on a stream that waits for nothing of the
// library's.
class Collective {
 public:
  explicit Collective(Rank& rank) : rank_(rank) {
    good(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    good(cudaMalloc(reinterpret_cast<void**>(&words_), 4 * sizeof *words_), "cudaMalloc");
    good(cudaMemsetAsync(words_, 0, 4 * sizeof *words_, stream_), "cudaMemsetAsync");
  }
  ~Collective() {
    good(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    good(cudaStreamDestroy(stream_), "cudaStreamDestroy");
    good(cudaFree(words_), "cudaFree");
  }
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  void start() {
    const ncclResult_t result = ncclAllReduce(words_, words_, 4, ncclFloat32, ncclSum, rank_.lent, stream_);
    rank_.expect(result == ncclSuccess, "ncclAllReduce");
  }
  [[nodiscard]] bool done() const { return cudaStreamQuery(stream_) == cudaSuccess; }

 private:
  void good(cudaError_t result, const char* call) {
    rank_.expect(result == cudaSuccess, std::string(call) + ": " + cudaGetErrorString(result));
  }
  Rank& rank_;
  cudaStream_t stream_ = nullptr;
  float* words_ = nullptr;
};

void play_beside_the_caller(Rank& rank, bool differ) {
  const std::unique_ptr<Transport> transport = rank.open();
  if (transport == nullptr) return;
  Collective collective(rank);
  const bool turned = differ && rank.rank == 1;
  std::vector<std::uint64_t> words(10, 1);
  const std::optional<Error> error = tokavg::caught([&] {
    if (!turned) collective.start();
    const std::unique_ptr<Reduction> sum = transport->start(words);
    if (turned) collective.start();
    rank.expect(soon([&] { return sum->test(); }), "the sum is not complete");
  });
  if (differ) {
    rank.expect_error(error, TOKAVG_ERR_TRANSPORT, {"NCCL", "invalid usage"});
    rank.expect(ncclCommAbort(rank.lent) == ncclSuccess, "ncclCommAbort");
    return;
  }
  rank.expect(!error, error ? error->text() : "");
  rank.expect(soon([&] { return collective.done(); }), "the caller's collective is not complete");
  transport->close();
}

}  // namespace

int main() {
  int faults = 0;
  // Own communicators alone: on one that is lent both would be the same.
  for (const Way way : {Way::kSplit, Way::kOwn}) faults += run("same order", way, 3, [](Rank& r) { play(r, false); });
  for (const Way way : {Way::kOwn}) faults += run("other order", way, 2, [](Rank& r) { play(r, true); });
  for (const Way way : {Way::kLent, Way::kSplit}) {
    faults += run("the caller's in the same order", way, 3, [](Rank& r) { play_beside_the_caller(r, false); });
  }
  faults += run("the caller's in another order", Way::kSplit, 2, [](Rank& r) { play_beside_the_caller(r, true); });
  return faults == 0 ? 0 : 1;
}
