// SPDX-License-Identifier: Apache-2.0
/** @file step.hpp @brief What is handed to a step and what comes back. Included by tokavg.hpp. */
#ifndef TOKAVG_CPP_STEP_HPP
#define TOKAVG_CPP_STEP_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "array.hpp"

namespace tokavg {
inline namespace api1 {

/** @brief A step that was reduced. */
struct Ticket {
  tokavg_ticket_t value = 0; /**< 1, 2, 3, ...; 0: none */
  /** @brief Tickets of one context are ordered as its steps. */
  auto operator<=>(const Ticket&) const = default;
};
/** @brief The step that is being counted. */
inline constexpr Ticket kOpen{TOKAVG_OPEN};

/** @brief Which factor. */
enum class Factor : std::int32_t {
  scale = TOKAVG_FACTOR_SCALE,           /**< f */
  report = TOKAVG_FACTOR_REPORT,         /**< 1 / Z */
  microbatch = TOKAVG_FACTOR_MICROBATCH, /**< of batch-level terms */
};

/** @brief What to wait for. */
enum class Wait : std::int32_t {
  count = TOKAVG_WAIT_COUNT, /**< the counts */
  loss = TOKAVG_WAIT_LOSS,   /**< the losses too */
};

/** @brief How far a step is. */
enum class State : std::int32_t {
  ready = TOKAVG_OK,        /**< it has what was waited for */
  pending = TOKAVG_PENDING, /**< not yet */
  empty = TOKAVG_EMPTY,     /**< it has, and nothing was scored: factors and losses are 0 */
};

/** @brief What a step holds. */
struct Step {
  State state;            /**< how far it is */
  tokavg_result_t result; /**< see types.h */
};

/** @brief Options of Context::reduce. */
struct ReduceOptions {
  bool done = false;                        /**< this rank has no data after this step */
  std::optional<std::int64_t> step_id = {}; /**< the caller's step number, checked over ranks */
  double accumulation_divisor = 0;          /**< A of this step; 0: the context's */
};

/** @brief What recording losses gives back. */
struct Recorded {
  double backward = 0; /**< S * f * loss_scale on a ticket, S * loss_scale on the open step */
  double sum = 0;      /**< S */
};

/** @brief Losses of tokens, in the labels' shape. */
struct TokenLosses {
  Array losses;          /**< float or double */
  const Labels& labels;  /**< selects and weights */
  double loss_scale = 0; /**< multiplies Recorded::backward; 0: 1 */
};

/** @brief A loss that is already a sum, or a mean, over tokens. */
struct ReducedLoss {
  double value = 0;         /**< the sum or the mean */
  std::int64_t tokens = -1; /**< how many it holds; -1: those counted here and not yet recorded */
  std::int32_t term = 0;    /**< 0 to Options::terms - 1 */
  bool mean = false;        /**< whether it is a mean */
  double loss_scale = 0;    /**< multiplies Recorded::backward; 0: 1 */
};

/** @brief Fused cross entropy: a tokavg_cross_entropy_t with names. */
struct CrossEntropy {
  Array logits;               /**< float, BFloat16 or Float16: rows x cols x vocab */
  std::int64_t vocab = 0;     /**< classes */
  const Labels& labels;       /**< gives rows and cols */
  double label_smoothing = 0; /**< 0 to 1 */
  double z_loss = 0;          /**< >= 0 */
  double logit_softcap = 0;   /**< > 0; 0: none */
  double loss_scale = 0;      /**< multiplies gradient and Recorded::backward; 0: 1 */
  Array gradient = {};        /**< the logits' type and shape, or the logits themselves; none: not wanted */
  Array losses = {};          /**< float, the labels' shape */
  Array lse = {};             /**< float, per row of logits */
  Array argmax = {};          /**< int32, per row of logits */
};

}  // namespace api1
}  // namespace tokavg

#endif
