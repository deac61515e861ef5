// SPDX-License-Identifier: Apache-2.0
// What every peer in this process answers: the loss of one batch of logits, and its gradient.
#ifndef TOKAVG_BENCH_PEERS_PEER_HPP
#define TOKAVG_BENCH_PEERS_PEER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tokavg::peers {

enum class Dtype { kF32, kBf16 };

// Pages that are there before anything is timed, huge ones where the kernel gives them.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* data_;
  std::size_t bytes_;
};

struct Problem {
  Dtype dtype;
  std::int64_t rows;
  std::int64_t vocab;
  float factor;          // upstream gradient of each loss, G / N
  const void* pristine;  // rows x vocab logits that nobody writes
  void* logits;          // a copy of them; a gradient may be written over it
  const std::int64_t* labels;

  [[nodiscard]] std::size_t element_bytes() const { return dtype == Dtype::kF32 ? 4 : 2; }
  [[nodiscard]] std::size_t row_bytes() const { return static_cast<std::size_t>(vocab) * element_bytes(); }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(rows) * row_bytes(); }
};

struct About {
  std::string name;
  std::string config;
  double loss_tolerance;      // relative
  double gradient_tolerance;  // relative to the largest gradient of the row
};

class Peer {
 public:
  explicit Peer(About who) : about_(std::move(who)) {}
  virtual ~Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  // Both return the sum of the losses; the gradient goes over problem.logits.
  virtual double forward(const Problem& problem) = 0;
  virtual double forward_backward(const Problem& problem) = 0;
  [[nodiscard]] const About& about() const { return about_; }

 private:
  About about_;
};

using Peers = std::vector<std::unique_ptr<Peer>>;

// Each appends its peers for this problem, or a note that says why there are none.
void add_tokavg(const Problem& problem, Peers& peers);
void add_plain(const Problem& problem, Peers& peers);
void add_onednn(const Problem& problem, Peers& peers, std::vector<std::string>& notes);
std::string onednn_version();

}  // namespace tokavg::peers

#endif
