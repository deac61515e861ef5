// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tokavg/types.h"

// How messages are summed over ranks. One implementation a folder: self/, threads/, caller/, mpi/, nccl/.
//
// A transport adds vectors of 64-bit words, nothing else: what the words mean, deadlines and statuses are the core's.
namespace tokavg {

// One sum in flight. Made by Transport::start, destroyed by the core when it is done or given up.
class Reduction {
 public:
  Reduction() = default;
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;
  // Gives an unfinished sum up without blocking; the words are not touched afterwards.
  virtual ~Reduction() = default;

  // Moves the sum on; true when words holds it. Throws Error (TIMEOUT when another rank's deadline has passed, ABORTED,
  // TRANSPORT, ...) when the channel has failed.
  virtual bool test() = 0;

  // The deadline has passed here: which ranks have not arrived, ascending, the same list on all that wait. Empty when
  // it is not known. May take up to 0.1 s.
  virtual std::vector<std::int32_t> late_ranks() = 0;

  // "round 0 waits for rank 3"
  [[nodiscard]] virtual std::string describe() const = 0;
};

// Sums that a GPU carries out by itself, in the order of a stream.
class StreamSums {
 public:
  StreamSums() = default;
  StreamSums(const StreamSums&) = delete;
  StreamSums& operator=(const StreamSums&) = delete;
  virtual ~StreamSums() = default;

  // Enqueues a sum on `stream` (a cudaStream_t, perhaps one that is being captured): words, device memory, become their
  // sums over the ranks, in place, modulo 2^64. Never waits. From the context's thread, the same sums in the same order
  // on all ranks. Throws Error TRANSPORT that names the call.
  virtual void enqueue(std::uint64_t* words, std::size_t n_words, void* stream) = 0;

  // A stream of the transport's own for them (a cudaStream_t), which lives until nothing runs on it.
  [[nodiscard]] virtual void* stream() = 0;

  // Throws what the channel has failed with meanwhile. Never waits. Any thread.
  virtual void check() = 0;
  // The same for sums that have come, before they are believed: waits for a call of another thread's to end.
  virtual void vouch() = 0;

  // Does the channel belong to the caller, who would rather keep it?
  [[nodiscard]] virtual bool lent() const = 0;
  // Gives all enqueued sums up, so that their streams drain; the words are worthless then, and the channel stays
  // unusable, a lent one too. Never blocks. Any thread.
  virtual void cancel() = 0;
};

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  // Never blocks and never talks to other ranks. Reductions are destroyed before.
  virtual ~Transport() = default;

  [[nodiscard]] virtual std::int32_t rank() const = 0;
  [[nodiscard]] virtual std::int32_t ranks() const = 0;

  // Begins to sum words over all ranks in place, modulo 2^64. Never blocks. The same sums in the same order on all
  // ranks. `words` outlives the Reduction.
  virtual std::unique_ptr<Reduction> start(std::span<std::uint64_t> words) = 0;

  // nullptr: this transport sums host memory alone.
  virtual StreamSums* stream_sums() { return nullptr; }
  // The GPU that it is bound to; -1: none.
  [[nodiscard]] virtual std::int32_t device_index() const { return -1; }

  // Do sums advance without calls of ours?
  [[nodiscard]] virtual bool progresses() const = 0;

  // Tells the other ranks that this context was aborted, as far as possible without blocking. Called from any thread
  // only when abort_from_any_thread().
  virtual void abort() = 0;
  [[nodiscard]] virtual bool abort_from_any_thread() const = 0;

  // All ranks close now, after their last sum. May talk to them, within reason; the destructor follows.
  virtual void close() = 0;

  // One JSON object.
  [[nodiscard]] virtual std::string describe() const = 0;
};

// What a transport is opened with; the fields are those of tokavg_config_t.
struct TransportOptions {
  std::int32_t comm_kind = 0;
  const void* comm = nullptr;
  std::int32_t comm_fortran = 0;
  std::int32_t comm_rank = 0;
  std::int32_t progress = 0;
  std::int64_t timeout_ms = 0;
  std::int64_t max_words = 0;
  std::string plugin_path;         // searched first; may be empty
  std::int32_t transport = 0;      // TOKAVG_TRANSPORT_
  std::int32_t device_index = -1;  // of the GPU that the context works on; -1: the current one
  bool own_communicator = false;   // split a lent ncclComm_t instead of using it
  std::string nccl_path;           // a libnccl for communicators of our own; may be empty
};

// How a folder of this directory makes itself known: it defines `const TransportFactory kFactory` in its namespace, and
// the CMake call that adds the folder puts it into the list. Nothing else names it.
struct TransportFactory {
  const char* name;
  bool (*serves)(std::int32_t comm_kind, std::int32_t transport);
  // Collective; bounded by timeout_ms.
  std::unique_ptr<Transport> (*open)(const TransportOptions& options);
  // Of this build and process, without a context: one JSON object.
  std::string (*describe)();  // nullptr: not in this build; its open says which option builds it
};

// The transports of this build (generated/registry.cpp).
std::span<const TransportFactory* const> transport_factories() noexcept;

// Opens what serves these options; throws Error NOT_BUILT where nothing does.
std::unique_ptr<Transport> open_transport(const TransportOptions& options);

// "self,threads,mpi": what this build has.
std::string transport_names();

}  // namespace tokavg
