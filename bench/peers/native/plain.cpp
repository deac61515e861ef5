// SPDX-License-Identifier: Apache-2.0
#include "plain.hpp"

#include <memory>

#include "peer.hpp"

namespace tokavg::peers {
namespace {

using Loop = double (*)(const PlainBatch& batch, bool train);

class Plain final : public Peer {
 public:
  Plain(const char* name, const char* config, const Problem& problem, Loop loop)
      : Peer({name, config, 1e-4, problem.dtype == Dtype::kF32 ? 1e-4 : 1e-2}), loop_(loop) {}
  double forward(const Problem& p) override { return loop_(batch(p), false); }
  double forward_backward(const Problem& p) override { return loop_(batch(p), true); }

 private:
  static PlainBatch batch(const Problem& p) { return {p.logits, p.labels, p.rows, p.vocab, p.factor}; }
  Loop loop_;
};

}  // namespace

void add_plain(const Problem& problem, Peers& peers) {
  const bool f32 = problem.dtype == Dtype::kF32;
  peers.push_back(
      std::make_unique<Plain>("plain", "three passes, -O3 -march=native", problem, f32 ? plain_f32 : plain_bf16));
  peers.push_back(std::make_unique<Plain>("plain-fast", "three passes, -Ofast -march=native", problem,
                                          f32 ? plain_fast_f32 : plain_fast_bf16));
}

}  // namespace tokavg::peers
