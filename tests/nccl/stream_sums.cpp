// SPDX-License-Identifier: Apache-2.0
// Sums in the order of streams, eager and captured, and what a capture must not notice.
#include <cuda_runtime_api.h>

#include <barrier>
#include <chrono>
#include <functional>
#include <thread>

#include "cuda_emulator/control.h"
#include "nccl/ranks.hpp"

namespace {

using namespace nccl_test;
using tokavg::StreamSums;
using tokavg::Transport;

void good(Rank& rank, cudaError_t result, const char* call) {
  rank.expect(result == cudaSuccess, std::string(call) + ": " + cudaGetErrorString(result));
}

// A stream with a few words on the GPU.
class Lane {
 public:
  static constexpr std::size_t kWords = 40;
  explicit Lane(Rank& rank) : rank_(rank) {
    good(rank, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    good(rank, cudaMalloc(reinterpret_cast<void**>(&words), kWords * 8), "cudaMalloc");
    good(rank, cudaHostAlloc(reinterpret_cast<void**>(&on_host), kWords * 8, 0), "cudaHostAlloc");
  }
  ~Lane() {
    good(rank_, cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    good(rank_, cudaStreamDestroy(stream), "cudaStreamDestroy");
    good(rank_, cudaFree(words), "cudaFree");
    good(rank_, cudaFreeHost(on_host), "cudaFreeHost");
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void put(std::uint64_t value) {
    for (std::size_t i = 0; i < kWords; ++i) on_host[i] = value + i;
    copy_in();
  }
  void copy_in() { good(rank_, cudaMemcpyAsync(words, on_host, kWords * 8, cudaMemcpyHostToDevice, stream), "copy"); }
  void expect_sums(std::uint64_t each) {
    good(rank_, cudaMemcpyAsync(on_host, words, kWords * 8, cudaMemcpyDeviceToHost, stream), "copy");
    good(rank_, cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    const auto p = static_cast<std::uint64_t>(rank_.ranks);
    for (std::size_t i = 0; i < kWords; ++i) {
      if (on_host[i] != p * (each + i)) return rank_.expect(false, "a sum is wrong");
    }
  }

  cudaStream_t stream = nullptr;
  std::uint64_t* words = nullptr;
  std::uint64_t* on_host = nullptr;

 private:
  Rank& rank_;
};

void eager(Rank& rank) {
  const std::unique_ptr<Transport> transport = rank.open();
  if (transport == nullptr) return;
  StreamSums& sums = *transport->stream_sums();
  {
    Lane one(rank);
    Lane other(rank);
    for (std::uint64_t i = 0; i < 10; ++i) {
      Lane& lane = i % 3 == 0 ? one : other;
      lane.put(i);
      sums.enqueue(lane.words, Lane::kWords, lane.stream);
      if (i % 4 == 0) rank.good_sum(*transport);  // of the host, on the same communicator
      lane.expect_sums(i);
      sums.check();
    }
  }
  transport->close();
}

void captured(Rank& rank) {
  const std::unique_ptr<Transport> transport = rank.open();
  if (transport == nullptr) return;
  {
    Lane lane(rank);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    // The other ranks are threads of this process, and allocate meanwhile.
    good(rank, cudaStreamBeginCapture(lane.stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    lane.copy_in();
    transport->stream_sums()->enqueue(lane.words, Lane::kWords, lane.stream);
    good(rank, cudaStreamEndCapture(lane.stream, &graph), "cudaStreamEndCapture");
    good(rank, cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
    for (std::uint64_t i = 0; i < 5; ++i) {
      for (std::size_t k = 0; k < Lane::kWords; ++k) lane.on_host[k] = i + k;
      good(rank, cudaGraphLaunch(exec, lane.stream), "cudaGraphLaunch");
      lane.expect_sums(i);
    }
    good(rank, cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
    good(rank, cudaGraphDestroy(graph), "cudaGraphDestroy");
  }
  transport->close();
}

// Sums of the host and closing, while all threads capture in the strictest mode: the captures end well, and the sums
// come. Between the barriers no call of the test's own is one that a capture forbids.
void capture_not_disturbed(Rank& rank) {
  static std::barrier all_here(2);
  Lane lane(rank);
  const std::unique_ptr<Transport> transport = rank.open();
  const auto capture = [&](const std::function<void()>& body) {
    cudaGraph_t graph = nullptr;
    all_here.arrive_and_wait();
    good(rank, cudaStreamBeginCapture(lane.stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    all_here.arrive_and_wait();
    if (transport != nullptr) body();
    all_here.arrive_and_wait();
    good(rank, cudaStreamEndCapture(lane.stream, &graph), "cudaStreamEndCapture");
    good(rank, cudaGraphDestroy(graph), "cudaGraphDestroy");
    all_here.arrive_and_wait();
  };
  capture([&] { rank.good_sum(*transport); });
  capture([&] { transport->close(); });
}

// A peer that never comes: the stream drains, and at once.
void cancelled(Rank& rank) {
  const std::unique_ptr<Transport> transport = rank.open();
  if (transport == nullptr) return;
  rank.good_sum(*transport);
  if (rank.rank == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    return;
  }
  {
    Lane lane(rank);
    lane.put(1);
    StreamSums& sums = *transport->stream_sums();
    sums.enqueue(lane.words, Lane::kWords, lane.stream);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    rank.expect(cudaStreamQuery(lane.stream) == cudaErrorNotReady, "done without a rank");
    sums.check();
    std::thread other([&sums] { sums.cancel(); });
    other.join();
    const auto begin = std::chrono::steady_clock::now();
    good(rank, cudaStreamSynchronize(lane.stream), "cudaStreamSynchronize");
    rank.expect(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(2000), "it did not drain");
    rank.expect_error(tokavg::caught([&] { sums.check(); }), TOKAVG_ERR_ABORTED, {"aborted"});
    rank.expect_error(tokavg::caught([&] { sums.enqueue(lane.words, 1, lane.stream); }), TOKAVG_ERR_ABORTED,
                      {"aborted"});
  }
  rank.expect_lent_dead(rank.way == Way::kLent);
}

}  // namespace

int main() {
  int faults = 0;
  for (const Way way : kWays) {
    for (const int ranks : {1, 2, 4}) {
      faults += run("eager", way, ranks, eager);
      faults += run("captured", way, ranks, captured);
    }
    faults += run("capture not disturbed", way, 2, capture_not_disturbed);
  }
  // From here on the ranks' numbers of operations differ, on communicators that are gone.
  cuda_emulator_check_order(0);
  for (const Way way : kWays) faults += run("cancelled", way, 2, cancelled);
  return faults == 0 ? 0 : 1;
}
