// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "cuda_emulator/calls.hpp"
#include "cuda_emulator/capture.hpp"
#include "cuda_emulator/device.hpp"
#include "cuda_emulator/memory.hpp"
#include "cuda_emulator/nccl_communicator.hpp"
#include "cuda_emulator/nccl_order.hpp"
#include "cuda_emulator/nccl_reduction.hpp"
#include "cuda_emulator/report.hpp"
#include "cuda_emulator/sanitizers.hpp"

// An operation on the stream: chunk by chunk, each rank puts its values into the memory that all share, waits for the
// others, and works out the result from all of them in the order of ranks, so that it is the same everywhere.
namespace cuda_emulator {
namespace {

constexpr int kPoison = 0xCD;
constexpr std::uint64_t kNoTicket = ~std::uint64_t{0};  // of what was captured

std::size_t bytes_of(const Operation& operation) {
  return operation.shape.count * size_of(static_cast<ncclDataType_t>(operation.shape.datatype));
}

std::string describe(const OperationShape& shape) {
  const bool broadcast = shape.kind != 0;
  return std::string(broadcast ? "ncclBroadcast" : "ncclAllReduce") + " of " + std::to_string(shape.count) + " " +
         name_of(static_cast<ncclDataType_t>(shape.datatype)) +
         (broadcast ? " from " + std::to_string(shape.root)
                    : std::string(" with ") + name_of_reduction(shape.reduction));
}

bool same_shape(const OperationShape& a, const OperationShape& b) {
  return a.kind == b.kind && a.datatype == b.datatype && a.reduction == b.reduction && a.root == b.root &&
         a.count == b.count;
}

}  // namespace

ncclResult_t Communicator::enqueue(const std::shared_ptr<Stream>& stream, Operation operation) {
  CaptureInfo info;
  if (capture_info(*stream, &info) != cudaSuccess) return ncclUnhandledCudaError;
  std::uint64_t ticket = kNoTicket;
  if (info.status == cudaStreamCaptureStatusNone) {
    const Locked locked(lock_);
    ticket = issued_++;
    note_issued(device_, segment_->token(), &operation.shape);
  }
  const std::shared_ptr<Communicator> self = shared_from_this();
  const Work work = {[self, operation, ticket] { self->run(operation, ticket); }, true};
  return submit(stream, work) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

void Communicator::fail_next(ncclResult_t result) {
  const Locked locked(lock_);
  failing_ticket_ = issued_;
  failing_with_ = result;
}

// One at a time, in the order in which they were enqueued, on whatever streams; NCCL sees to that too. What was
// captured runs when its graph does.
void Communicator::run(const Operation& operation, std::uint64_t ticket) {
  {
    Locked locked(lock_);
    locked.wait(changed_, [&] { return aborted_ || (!running_ && (ticket == kNoTicket || ticket == finished_)); });
    running_ = true;
  }
  if (ticket == failing_ticket_) set_state(failing_with_);
  const bool usable = !aborted_ && state() == ncclSuccess && device_error(device_) == cudaSuccess;
  if (!usable || !exchange(operation)) poison(operation);
  const Locked locked(lock_);
  running_ = false;
  if (ticket != kNoTicket) ++finished_;
  changed_.notify_all();
}

bool Communicator::exchange(const Operation& operation) {
  ++operations_;
  const std::size_t size = size_of(static_cast<ncclDataType_t>(operation.shape.datatype));
  const std::size_t chunk = kChunkBytes / size;
  std::size_t first = 0;
  do {
    const std::size_t count = std::min<std::size_t>(chunk, operation.shape.count - first);
    if (!exchange_chunk(operation, first, count)) return false;
    first += count;
  } while (first < operation.shape.count);
  return true;
}

bool Communicator::exchange_chunk(const Operation& operation, std::size_t first, std::size_t count) {
  const std::uint64_t before = step_++;
  if (!segment_->wait(aborted_, [&] { return all_reached(&SharedRank::taken, before); })) return false;
  own().shape = operation.shape;
  put_chunk(operation, first, count);
  own().posted = step_;
  segment_->ring();
  if (!segment_->wait(aborted_, [this] { return all_reached(&SharedRank::posted, step_); })) return false;
  const bool fits = check_shapes();
  if (fits) take_chunk(operation, first, count);
  own().taken = step_;
  segment_->ring();
  return fits;
}

void Communicator::put_chunk(const Operation& operation, std::size_t first, std::size_t count) {
  const auto datatype = static_cast<ncclDataType_t>(operation.shape.datatype);
  const bool broadcast = operation.shape.kind != 0;
  if (broadcast && operation.shape.root != rank_) return;
  const DeviceAccess access(device_);
  const auto* values = static_cast<const unsigned char*>(operation.send) + first * size_of(datatype);
  const void* scalar = operation.scale == nullptr ? nullptr : operation.scale->device_scalar;
  note_read(values, count * size_of(datatype));
  if (scalar != nullptr) note_read(scalar, size_of(datatype));
  const Unseen unseen;
  std::memcpy(own().data, values, count * size_of(datatype));
  if (operation.scale == nullptr) return;
  multiply(own().data, scalar != nullptr ? scalar : operation.scale->value.data(), count, datatype);
}

void Communicator::take_chunk(const Operation& operation, std::size_t first, std::size_t count) {
  const auto datatype = static_cast<ncclDataType_t>(operation.shape.datatype);
  const std::size_t bytes = count * size_of(datatype);
  unsigned char* target = static_cast<unsigned char*>(operation.receive) + first * size_of(datatype);
  note_write(target, bytes);
  const Unseen unseen;
  alignas(16) unsigned char result[kChunkBytes];
  const int source = operation.shape.kind != 0 ? operation.shape.root : 0;
  std::memcpy(result, segment_->rank(source).data, bytes);
  for (int rank = 1; rank < ranks_ && operation.shape.kind == 0; ++rank) {
    const auto reduction = static_cast<ncclRedOp_t>(operation.shape.reduction);
    reduce_into(result, segment_->rank(rank).data, count, datatype, reduction);
  }
  const DeviceAccess access(device_);
  std::memcpy(target, result, bytes);
}

// Every rank sees what all of them do and compares all with all, so all of them find the same fault.
bool Communicator::check_shapes() {
  for (int one = 0; one < ranks_; ++one) {
    for (int other = one + 1; other < ranks_; ++other) {
      if (fit(one, segment_->rank(one).shape, other, segment_->rank(other).shape)) continue;
      set_state(ncclInvalidUsage);
      return false;
    }
  }
  return true;
}

bool Communicator::fit(int one, const OperationShape& shape, int other, const OperationShape& other_shape) const {
  const auto number = static_cast<unsigned long long>(operations_);
  if (!same_shape(shape, other_shape)) {
    warn("NCCL, rank %d: operation %llu is, on rank %d, %s; on rank %d, %s", rank_, number, one,
         describe(shape).c_str(), other, describe(other_shape).c_str());
    return false;
  }
  if (same_order(shape, other_shape)) return true;
  warn(
      "NCCL, rank %d: before operation %llu, ranks %d and %d have issued the operations of two communicators in "
      "different orders",
      rank_, number, one, other);
  return false;
}

void Communicator::poison(const Operation& operation) {
  const DeviceAccess access(device_);
  note_write(operation.receive, bytes_of(operation));
  std::memset(operation.receive, kPoison, bytes_of(operation));
}

}  // namespace cuda_emulator
