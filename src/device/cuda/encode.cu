// SPDX-License-Identifier: Apache-2.0
// Counts and losses become a message.
#include "device/cuda/cell_sums.hpp"
#include "device/cuda/gpu.hpp"
#include "device/cuda/patience.hpp"
#include "device/cuda/state.hpp"

namespace tokavg::cuda {
namespace {

constexpr unsigned kAllLanes = 0xffffffffU;

__device__ Word warp_sum(Word value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}

__device__ void warp_sum(TermCell& cell) {
  auto* words = reinterpret_cast<Word*>(&cell);
  for (std::size_t i = 0; i < sizeof cell / sizeof(Word); ++i) words[i] = warp_sum(words[i]);
}

// The cell of this lane, emptied; nothing where it was not used or was dropped.
__device__ TermCell take(TermCell* cell, bool used, bool kept) {
  TermCell mine{};
  if (!used) return mine;
  if (kept) mine = *cell;
  *cell = TermCell{};
  return mine;
}

__device__ void add_losses(const TermCell& cell, std::uint64_t* at) {
  std::uint64_t tokens = 0;
  static_cast<void>(get_count(at + kLossTokensAt, tokens));
  put_count(at + kLossTokensAt, tokens + cell.loss_tokens);
  FixedSum sum = from_limbs(get_limbs(at + kLossLimbsAt));
  sum.add(sum_of(cell.losses));
  at[kUnauditedAt] += cell.unaudited;
  at[kNonfiniteAt] += cell.nonfinite + (sum.too_large() ? 1 : 0);
  put_limbs(at + kLossLimbsAt, sum);
}

__device__ TermCounts add_counts(const TermCell& cell, std::uint64_t* at) {
  TermCounts counts;
  static_cast<void>(get_counts(at, counts));
  if (at[kTooLargeAt] != 0) counts.weights.mark_too_large();
  counts.tokens += cell.tokens;
  counts.weighted += cell.weighted;
  counts.weights.add(sum_of(cell.weights));
  put_counts(at, counts);
  at[kBadWeightsAt] += cell.bad_weights;
  return counts;
}

// A slot that was replayed is among the recent ones several times: its losses belong to the newest of those.
__device__ bool came_before(const StreamState& state, int first, int k) {
  for (int i = first; i < k; ++i) {
    if (state.recent[i] == state.recent[k]) return true;
  }
  return false;
}

__device__ void remember(StreamState& state, std::int32_t slot) {
  for (int k = kMostSlots - 1; k > 0; --k) state.recent[k] = state.recent[k - 1];
  state.recent[0] = slot;
  if (state.n_recent < kMostSlots) ++state.n_recent;
  ++state.reduces;
}

// One warp a term; its lanes are the cells of the open step, and then the slots whose losses travel.
__global__ void encode_kernel(EncodeTask task) {
  __shared__ std::uint64_t words[kMostWords];
  __shared__ TermCounts local[TOKAVG_MAX_TERMS];
  StreamState& state = *task.state;
  const auto n_words = static_cast<unsigned>(task.layout.words());
  const bool closes = task.message.roll.kind == MessageKind::kReduce;
  if (threadIdx.x == 0) {
    if (task.host_sums) wait_until_free(*task.box.header, task.control, task.rule.timeout_ms);
    ++state.messages;
    relaxed_store(&task.box.header->begun, state.messages);
    __threadfence_system();
    if (closes) remember(state, task.message.slot);
  }
  for (unsigned i = threadIdx.x; i < n_words; i += blockDim.x) words[i] = relaxed_load(&task.box.host_part[i]);
  __syncthreads();

  const unsigned term = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const bool sums = task.rule.holds_labels && task.rule.copy_index == 0;  // copies add to no sum
  TermCell open{};
  if (closes) {
    open = take(&task.bank->cells[lane][term], ((task.used >> lane) & 1U) != 0, ((task.kept >> lane) & 1U) != 0);
    warp_sum(open);
  }
  // Lane k: the losses of the k-th newest step.
  const int first = closes ? 1 : 0;
  const int k = static_cast<int>(lane);
  TermCell old{};
  if (k >= first && k < state.n_recent && k < static_cast<int>(task.layout.slots()) && !came_before(state, first, k)) {
    StepSlot& slot = task.slots[state.recent[k]];
    old = take(&slot.terms[term], true, true);
    slot.recorded[term] += old.loss_tokens;
    if (!closes) slot.terms[term].bad_weights = old.bad_weights;  // the next step is to tell of them too
  }
  const Word bad_labels = warp_sum(old.bad_labels) + open.bad_labels;
  const Word bad_weights = warp_sum(old.bad_weights);  // of losses alone; this step, or flush, tells of them
  __syncwarp();
  std::uint64_t* at = words + task.layout.term_at(term);
  if (lane == 0 && closes) {
    local[term] = add_counts(open, at);
    StepSlot& slot = task.slots[task.message.slot];
    slot.counted[term] = local[term].tokens;
    // What no message carried in time, for steps of graphs came between, is not this step's.
    slot.terms[term] = TermCell{};
    std::uint64_t recorded = 0;
    static_cast<void>(get_count(words + task.layout.losses_at(0, term) + kLossTokensAt, recorded));
    slot.recorded[term] = recorded + open.loss_tokens;
    add_losses(open, words + task.layout.losses_at(0, term));
  }
  if (lane == 0) {
    at[kBadLabelsAt] += bad_labels;
    at[kBadWeightsAt] += bad_weights;
  }
  if (k >= first && k < static_cast<int>(task.layout.slots())) {
    add_losses(old, words + task.layout.losses_at(static_cast<std::size_t>(k), term));
  }
  __syncthreads();

  if (threadIdx.x == 0) {
    Roll roll = task.message.roll;
    roll.sequence = state.messages;
    const std::uint64_t hash = roll.hash(task.layout);
    if (task.message.roll_known) add_roll(words + kRollAt, hash, task.rule.rank);
    if (closes) {
      bool empty = true;
      std::uint64_t fingerprint = fingerprint_begin(words[kMicrobatchesAt]);
      for (int t = 0; t < TOKAVG_MAX_TERMS; ++t) {
        const TermCounts counts = t < task.layout.terms ? local[t] : TermCounts{};
        empty = empty && counts.tokens == 0;
        fingerprint = fingerprint_add(fingerprint, counts);
        relaxed_store(&task.box.header->local_tokens[t], counts.tokens);
      }
      words[kEmptyAt] = task.rule.holds_labels && empty ? 1 : 0;
      words[kCopiesAt] = task.rule.holds_labels ? copies_word(fingerprint, task.rule.copies, task.rule.copy_index) : 0;
      StepSlot& slot = task.slots[task.message.slot];
      slot.message = state.messages;
      slot.roll = hash;
      slot.accumulation_divisor = roll.accumulation_divisor;
    }
    relaxed_store(&task.box.header->roll, hash);
    relaxed_store(&task.box.header->reduce_number, state.reduces);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < n_words; i += blockDim.x) {
    const bool checks = i < kMicrobatchesAt || i == kCopiesAt;  // what a copy, too, says
    relaxed_store(&task.box.words[i], sums || checks ? words[i] : 0);
  }
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) store_to_host(&task.box.header->published, state.messages);
}

__global__ void fold_kernel(StreamState::Bank* bank, std::uint32_t used, std::uint32_t kept) {
  const unsigned term = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  TermCell all = take(&bank->cells[lane][term], ((used >> lane) & 1U) != 0, ((kept >> lane) & 1U) != 0);
  warp_sum(all);
  __syncwarp();
  if (lane == 0) bank->cells[0][term] = all;
}

unsigned warps(std::int32_t terms) { return 32 * static_cast<unsigned>(terms); }

}  // namespace

void launch_encode(const EncodeTask& task, cudaStream_t stream) {
  launch("encode_kernel", {.threads = warps(task.layout.terms)}, stream, encode_kernel, task);
}

void launch_fold(StreamState::Bank* bank, std::uint32_t used, std::uint32_t kept, std::int32_t terms, cudaStream_t stream) {
  launch("fold_kernel", {.threads = warps(terms)}, stream, fold_kernel, bank, used, kept);
}

}  // namespace tokavg::cuda
