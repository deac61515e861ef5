// SPDX-License-Identifier: Apache-2.0
// What tokavg adds to a step: count, reduce, and the factor on the device. Over the bridge alone and with a second rank
// on the same GPU, and over NCCL with one rank; call by call and as a CUDA graph that is replayed.
#include <barrier>
#include <chrono>
#include <cstdio>
#include <thread>

#include "gpu/groups.hpp"
#include "kernels/calls.hpp"

namespace tokavg_bench {
namespace {

using Clock = std::chrono::steady_clock;
using Meeting = std::barrier<>;

constexpr std::int64_t kLabels = 8192;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

class Steps {
 public:
  Steps(const Plan& plan, const Rank& rank, Meeting& meeting, std::string way, bool keeps)
      : plan_(plan),
        rank_(rank),
        meeting_(meeting),
        way_(std::move(way)),
        keeps_(keeps),
        labels_(all_zero(), kLabels * sizeof(std::int64_t), stream_),
        view_(labels_on_gpu(labels_, TOKAVG_DTYPE_I64, 1, kLabels)) {}

  void run() {
    const int steps = plan_.choose(200, 50, 5);
    for (int repetition = -1; repetition < plan_.choose(9, 3, 1); ++repetition) {
      time("step/eager/" + way_, steps, repetition >= 0, [&] { last_ = step(); });
      // What one step takes from the first call until the factor is there: nothing else hides it.
      time("step/alone/" + way_, steps, repetition >= 0, [&] {
        last_ = step();
        stream_.wait();
      });
    }
    replay(steps);
  }

 private:
  static Buffer all_zero() { return Buffer(kLabels * sizeof(std::int64_t)); }

  tokavg_ticket_t step() {
    rank_.count(view_, stream_);
    const tokavg_ticket_t ticket = rank_.reduce(stream_);
    (void)rank_.factor(ticket, stream_);
    return ticket;
  }

  template <class Body>
  void time(const std::string& name, int steps, bool keep, Body&& body) {
    stream_.wait();
    meeting_.arrive_and_wait();
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < steps; ++i) {
      body();
    }
    stream_.wait();
    if (keep && keeps_) {
      plan_.results->add(name, microseconds_since(begin) / steps);
    }
  }

  void replay(int steps) {
    rank_.flush(stream_);
    rank_.wait(last_, TOKAVG_WAIT_LOSS);
    stream_.wait();
    meeting_.arrive_and_wait();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t launchable = nullptr;
    must(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    const tokavg_ticket_t captured = step();
    must(cudaStreamEndCapture(stream_.get(), &graph), "cudaStreamEndCapture");
    must(cudaGraphInstantiate(&launchable, graph, 0), "cudaGraphInstantiate");
    for (int repetition = -1; repetition < plan_.choose(9, 3, 1); ++repetition) {
      time("step/graph/" + way_, steps, repetition >= 0,
           [&] { must(cudaGraphLaunch(launchable, stream_.get()), "cudaGraphLaunch"); });
    }
    rank_.release(captured);
    must(cudaGraphExecDestroy(launchable), "cudaGraphExecDestroy");
    must(cudaGraphDestroy(graph), "cudaGraphDestroy");
    meeting_.arrive_and_wait();
  }

  const Plan& plan_;
  const Rank& rank_;
  Meeting& meeting_;
  std::string way_;
  bool keeps_;
  Stream stream_;
  DeviceBuffer labels_;
  tokavg_labels_t view_;
  tokavg_ticket_t last_ = 0;
};

void run_alone(const Plan& plan, const Place& place, const std::string& way) {
  std::string why_not;
  const std::unique_ptr<Rank> rank = Rank::make(place, why_not);
  if (!rank) {
    std::printf("step/*/%s: not measured: %s\n", way.c_str(), why_not.c_str());
    return;
  }
  Meeting meeting(1);
  Steps(plan, *rank, meeting, way, true).run();
}

// Both ranks on this GPU: their sums go through the host.
void run_two(const Plan& plan, tokavg_threads_t* group) {
  Meeting meeting(2);
  const auto body = [&](std::int32_t index) {
    const Rank rank({group, index, false});
    meeting.arrive_and_wait();
    Steps(plan, rank, meeting, "bridge_2", index == 0).run();
  };
  std::thread second(body, 1);
  body(0);
  second.join();
}

tokavg_threads_t* make_group(std::int32_t ranks) {
  tokavg_threads_t* group = nullptr;
  if (tokavg_threads_create(ranks, &group) != TOKAVG_OK) {
    fail("tokavg_threads_create");
  }
  return group;
}

}  // namespace

void run_steps(const Plan& plan) {
  run_alone(plan, {}, "self");
  tokavg_threads_t* group = make_group(2);
  run_two(plan, group);
  (void)tokavg_threads_free(group);
  group = make_group(1);
  run_alone(plan, {group, 0, true}, "nccl_1");
  (void)tokavg_threads_free(group);
}

}  // namespace tokavg_bench
