// SPDX-License-Identifier: Apache-2.0
// Random logits and labels, and what cross entropy answers for them in double precision.
#ifndef TOKAVG_BENCH_PEERS_PROBLEM_HPP
#define TOKAVG_BENCH_PEERS_PROBLEM_HPP

#include <cstdint>
#include <vector>

#include "peer.hpp"

namespace tokavg::peers {

class Data {
 public:
  Data(Dtype dtype, std::int64_t rows, std::int64_t vocab);
  [[nodiscard]] const Problem& problem() const { return problem_; }
  void restore() const;  // the logits, after a gradient was written over them
  // Throw where the peer's answer is off by more than it may be.
  void check_loss(const Peer& peer, double loss) const;
  void check_gradient(const Peer& peer) const;

 private:
  [[nodiscard]] double value(const void* array, std::int64_t row, std::int64_t k) const;
  [[nodiscard]] double lse(std::int64_t row) const;

  std::vector<std::int64_t> labels_;
  Buffer pristine_;
  Buffer logits_;
  Problem problem_;
  double loss_ = 0;
};

}  // namespace tokavg::peers

#endif
