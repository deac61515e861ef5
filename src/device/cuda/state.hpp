// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "base/message_words.hpp"
#include "device/cuda/cell.hpp"
#include "device/message_box.hpp"
#include "device/stream_device.hpp"

// What a context keeps in device memory, and the small kernels that make messages of it and read the sums: the run-time
// arrow count -> reduce -> loss, without the host.
namespace tokavg::cuda {

inline constexpr int kCells = 32;       // of the open step: one a lane of a warp
inline constexpr int kBanks = 2;        // of cells: eager, and in a graph
inline constexpr int kMostSlots = 17;   // tickets whose losses travel: in_flight + 1
inline constexpr int kFactorKinds = 3;  // TOKAVG_FACTOR_ - 1
inline constexpr std::size_t kMostWords = MessageLayout{TOKAVG_MAX_TERMS, kMostSlots - 1}.words();

// A step that was closed. All zero at first.
struct StepSlot {
  TermCell terms[TOKAVG_MAX_TERMS];  // losses and bad labels that no message has carried yet
  Word counted[TOKAVG_MAX_TERMS];    // by this rank, on device and host
  Word recorded[TOKAVG_MAX_TERMS];   // loss tokens that messages have carried
  Word message;                      // the number of its message
  Word settled;                      // the message that the factors below are of
  Word roll;                         // what this rank said in it
  double accumulation_divisor;
  double factors[TOKAVG_MAX_TERMS][kFactorKinds];  // NaN where the step failed
  float rounded_factors[TOKAVG_MAX_TERMS][kFactorKinds];
};

struct StreamState {
  Word messages;  // made so far
  Word reduces;   // steps closed so far
  std::int32_t n_recent;
  std::int32_t recent[kMostSlots];  // their slots, newest first; a slot that was replayed is there more than once
  // A replay may come while an eager step is open, so it has cells of its own.
  struct Bank {
    TermCell scratch;                          // of one call that gives its sum back
    TermCell cells[kCells][TOKAVG_MAX_TERMS];  // the open step: a cell a microbatch, so that one can be dropped
  } banks[kBanks];
};

struct Words {
  MessageHeader* header = nullptr;  // the box's, as the device sees it
  const std::uint64_t* host_part = nullptr;
  std::uint64_t* words = nullptr;  // mapped, or device memory that is summed in the order of a stream
  std::uint64_t* sums = nullptr;   // mapped
};

struct EncodeTask {
  StreamState* state = nullptr;
  StepSlot* slots = nullptr;
  Words box;
  StreamControl* control = nullptr;
  MessageLayout layout;
  StreamRule rule;
  StreamMessage message;
  StreamState::Bank* bank = nullptr;
  std::uint32_t used = 0;  // cells that were written to
  std::uint32_t kept = 0;  // those not dropped
  bool host_sums = true;   // the box is handed to the host, which must be done with what it held before
};
void launch_encode(const EncodeTask& task, cudaStream_t stream);

struct AwaitTask {
  StepSlot* slot = nullptr;
  Words box;
  StreamControl* control = nullptr;
  MessageLayout layout;
  StreamRule rule;
};
// Bridged: waits until the host has written the sums (or the deadline passes), then writes the slot's factors.
void launch_await(const AwaitTask& task, cudaStream_t stream);

// Summed in the order of a stream: says that a stream waits for the slot's message.
void launch_ask(const StepSlot* slot, StreamControl* control, cudaStream_t stream);
// Writes the slot's factors (nullptr: a message that closed no step) and hands the sums to the host.
void launch_settle(const AwaitTask& task, cudaStream_t stream);

// Adds all kept cells up in cell 0.
void launch_fold(StreamState::Bank* bank, std::uint32_t used, std::uint32_t kept, std::int32_t terms,
                 cudaStream_t stream);

// Moves the scratch cell to `target` and gives its sum back. factor: nullptr is 1.
void launch_give_back(TermCell* scratch, TermCell* target, const double* factor, const StreamOutputs& out,
                      cudaStream_t stream);

struct ValueTask {
  const StreamState::Bank* bank = nullptr;
  StepSlot* slot = nullptr;  // nullptr: the open step
  TermCell* target = nullptr;
  std::uint32_t kept = 0;
  std::int32_t term = 0;
  StreamValue value;
  const double* factor = nullptr;
  StreamOutputs out;
};
void launch_value(const ValueTask& task, cudaStream_t stream);

}  // namespace tokavg::cuda
