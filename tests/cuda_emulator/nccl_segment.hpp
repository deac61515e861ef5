// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

// Memory that the ranks of one communicator share, be they threads or processes. It has no name: whoever made the
// unique id keeps it open, the others open it through /proc, so nothing is left behind however they end.
namespace cuda_emulator {

inline constexpr std::size_t kChunkBytes = 64 * 1024;

// What has to be the same on every rank, and how many operations of other communicators came before.
struct OperationShape {
  struct Issued {
    std::uint64_t communicator = 0;
    std::uint64_t operations = 0;
  };
  int kind = 0;
  int datatype = 0;
  int reduction = 0;
  int root = 0;
  std::uint64_t count = 0;
  std::array<Issued, 8> issued{};
};

struct SharedRank {
  std::atomic<std::uint32_t> present;
  int process = 0;
  int device = 0;

  // Steps of operations: what was put here, and up to where this rank has read what others put.
  std::atomic<std::uint64_t> posted;
  std::atomic<std::uint64_t> taken;
  OperationShape shape;

  // The same for ncclCommSplit.
  std::atomic<std::uint64_t> split_posted;
  std::atomic<std::uint64_t> split_taken;
  int color = 0;
  int key = 0;
  ncclUniqueId id;

  alignas(64) unsigned char data[kChunkBytes];
};

class Segment {
 public:
  // nullptr, and why: the id is of no communicator that is being made, or is used with another number of ranks.
  static std::shared_ptr<Segment> open(const ncclUniqueId& id, int ranks, ncclResult_t* why);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  SharedRank& rank(int number) { return ranks_[number]; }
  std::uint64_t token() const;
  void ring();

  // Until `condition` holds (then true) or `given_up` is set. Whoever makes it true rings.
  template <typename Condition>
  bool wait(const std::atomic<bool>& given_up, Condition condition) {
    for (;;) {
      const std::uint32_t heard = bell();
      if (condition()) return true;
      if (given_up) return false;
      listen(heard);
    }
  }

 private:
  struct Header;

  Segment(void* mapping, std::size_t size);
  std::uint32_t bell() const;
  void listen(std::uint32_t heard) const;

  void* mapping_;
  std::size_t size_;
  Header* header_;
  SharedRank* ranks_;
};

bool make_unique_id(ncclUniqueId* id);

// All ranks have opened it, or none will. Does nothing in a process that did not make the id.
void close_unique_id(const ncclUniqueId& id);

}  // namespace cuda_emulator
