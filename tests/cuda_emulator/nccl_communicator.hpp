// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cuda_emulator/handles.hpp"
#include "cuda_emulator/nccl_segment.hpp"
#include "cuda_emulator/stream.hpp"

namespace cuda_emulator {

// A reduction that ncclRedOpCreatePreMulSum() made.
struct PreMulSum {
  ncclDataType_t datatype = ncclFloat32;
  std::vector<unsigned char> value;  // of a scalar that was read at once
  const void* device_scalar = nullptr;
};

struct Operation {
  OperationShape shape;
  const void* send = nullptr;
  void* receive = nullptr;
  std::shared_ptr<const PreMulSum> scale;
};

// One rank's end of a communicator.
class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  Communicator(int ranks, int rank, int device) : ranks_(ranks), rank_(rank), device_(device) {}
  ~Communicator();

  // Makes itself known to the others, then waits for all of them.
  ncclResult_t join(const ncclUniqueId& id);
  ncclResult_t meet(const ncclUniqueId& id);

  // Puts the operation on the stream.
  ncclResult_t enqueue(const std::shared_ptr<Stream>& stream, Operation operation);

  // The operation that is enqueued next will end with an asynchronous error.
  void fail_next(ncclResult_t result);

  // ncclCommSplit: tells the others the color, then learns who is in the new one, in order; first the rank whose id
  // is used.
  ncclResult_t post_color(int color, int key, const ncclUniqueId& id);
  struct Group {
    int ranks = 0;
    int rank = 0;
    ncclUniqueId id;
  };
  ncclResult_t read_colors(int color, Group* group);

  // Its handle is gone.
  void end();

  // No operation is left; or, if aborted, none is running.
  void drain();
  void abort();

  ncclResult_t add_reduction(PreMulSum reduction, ncclRedOp_t* op);
  ncclResult_t remove_reduction(ncclRedOp_t op);
  std::shared_ptr<const PreMulSum> reduction(ncclRedOp_t op);

  int ranks() const { return ranks_; }
  int rank() const { return rank_; }
  int device() const { return device_; }
  ncclResult_t state() const { return static_cast<ncclResult_t>(state_.load()); }
  void set_state(ncclResult_t state) { state_ = state; }

  static std::size_t living_reductions();

 private:
  void run(const Operation& operation, std::uint64_t ticket);
  bool exchange(const Operation& operation);
  bool exchange_chunk(const Operation& operation, std::size_t first, std::size_t count);
  void put_chunk(const Operation& operation, std::size_t first, std::size_t count);
  void take_chunk(const Operation& operation, std::size_t first, std::size_t count);
  bool check_shapes();
  bool fit(int one, const OperationShape& shape, int other, const OperationShape& other_shape) const;
  void poison(const Operation& operation);
  SharedRank& own() { return segment_->rank(rank_); }
  bool all_reached(std::atomic<std::uint64_t> SharedRank::*counter, std::uint64_t step);

  const int ranks_;
  const int rank_;
  const int device_;
  std::shared_ptr<Segment> segment_;
  std::atomic<int> state_{ncclInProgress};
  std::atomic<bool> aborted_{false};

  Lock lock_;
  std::condition_variable changed_;
  std::uint64_t issued_ = 0;    // operations, in the order in which they were enqueued
  std::uint64_t finished_ = 0;  // of these
  bool running_ = false;
  std::uint64_t failing_ticket_ = ~std::uint64_t{1};
  ncclResult_t failing_with_ = ncclSuccess;
  std::map<int, std::shared_ptr<const PreMulSum>> reductions_;
  int next_reduction_ = ncclNumOps;

  // Only touched by the operation that runs.
  std::uint64_t step_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t split_step_ = 0;
};

Handles<ncclComm_t, Communicator>& communicators();

// What ncclGetLastError() answers this thread.
void set_nccl_error(const std::string& text);
const char* nccl_error();

}  // namespace cuda_emulator
