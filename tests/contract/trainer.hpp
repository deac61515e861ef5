// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "contract/model.hpp"
#include "contract/team.hpp"

namespace contract {

// What a trainer does by itself, and where tokavg comes in.
struct Trainer {
  bool averages = true;               // its reduction divides by the ranks
  bool divides_accumulation = false;  // it divides each accumulation step by their number
  bool weighted = false;              // tokens have weights and these divide
  int terms = 1;                      // 2: a second prediction head with its own count
  int shards = 1;                     // context parallel: so many neighbouring ranks hold parts of a microbatch
};

enum class Way { kLossScaled, kFactor, kFused, kGradientScaled };

struct Outcome {
  Gradient gradient;      // after the trainer's reduction, what the optimiser would use
  double mean_loss = 0;   // of term 0, as tokavg reports it
  double batch_term = 0;  // a batch-level term's gradient, scaled by the factor of kind MICROBATCH
  std::string fault;      // the first call that failed; empty: none
};

// One step of this rank of the team.
Outcome train(const Trainer& trainer, Way way, const Cells& cells, Team& team);

// The same data on one process, without tokavg.
struct Reference {
  Gradient gradient;     // sum of dS / Z (both terms)
  Gradient local_means;  // what averaging each microbatch's own mean gives
  double loss = 0;
  double batch_term = 0;
};
Reference one_process(const Trainer& trainer, const Cells& cells);

// The second term counts in the loss with this coefficient.
inline constexpr double kSecondTerm = 0.3;
// The gradient of the batch-level term of a microbatch, or of a shard of it.
double batch_level(const Microbatch& batch);

}  // namespace contract
