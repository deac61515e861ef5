// SPDX-License-Identifier: Apache-2.0
/** @file context.hpp @brief The context. Included by tokavg.hpp. */
#ifndef TOKAVG_CPP_CONTEXT_HPP
#define TOKAVG_CPP_CONTEXT_HPP

#include <array>
#include <concepts>
#include <string>
#include <utility>

#include "config.hpp"
#include "step.hpp"

namespace tokavg {
inline namespace api1 {

/**
 * @brief One rank's part in a group of ranks that count together.
 *
 * Each function is the C function of its name; tokavg.h says what it does, when it blocks and what can go wrong. The
 * forms with a std::error_code& set it and throw nothing of the library's; what they return means nothing where it is
 * set.
 */
class Context {
 public:
  /** @brief No context: every call on it fails with TOKAVG_ERR_HANDLE. */
  Context() = default;
  /** @brief tokavg_init. @param comm which ranks @param options how @throws Error on every rank, if on one @collective
   */
  Context(const Communicator& comm, const Options& options) {
    std::error_code code;
    *this = open(comm, options, code);
    throw_if(code, nullptr);
  }
  /** @brief tokavg_init. @param comm which ranks @param options how @param code set on failure @return a context */
  static Context open(const Communicator& comm, const Options& options, std::error_code& code) noexcept {
    Context context;
    const tokavg_config_t config = options.c(comm);
    code = code_of(tokavg_init(&config, &context.ctx_));
    return context;
  }
  Context(Context&& other) noexcept : ctx_(std::exchange(other.ctx_, nullptr)) {}
  Context& operator=(Context&& other) noexcept {
    std::swap(ctx_, other.ctx_);
    return *this;
  }
  /** @brief tokavg_free: on this rank alone, without waiting. */
  ~Context() { static_cast<void>(tokavg_free(ctx_)); }

  /** @brief The C handle. @return it stays this object's; nullptr where there is no context */
  tokavg_context_t* get() const noexcept { return ctx_; }

  /** @brief tokavg_finalize. @param code set on failure @collective */
  void finalize(std::error_code& code) noexcept { code = code_of(tokavg_finalize(ctx_)); }
  /** @brief tokavg_finalize. @throws Error @collective */
  void finalize() { check(tokavg_finalize(ctx_)); }
  /** @brief tokavg_abort. @threadsafety any thread */
  void abort() noexcept { static_cast<void>(tokavg_abort(ctx_)); }

  /** @brief tokavg_count. @param labels what to count @param code set on failure @param stream for CUDA labels */
  void count(const Labels& labels, std::error_code& code, tokavg_stream_t stream = nullptr) {
    const tokavg_labels_t c_labels = labels.c();
    code = code_of(tokavg_count(ctx_, &c_labels, stream));
  }
  /** @brief tokavg_count. @param labels what to count @param stream for CUDA labels @throws Error */
  void count(const Labels& labels, tokavg_stream_t stream = nullptr) {
    std::error_code code;
    count(labels, code, stream);
    throw_if(code, ctx_);
  }
  /** @brief tokavg_count_add. @param term which @param tokens how many @param weight_sum their weights; 0: tokens
   *  @param microbatches that begin with them @param code set on failure */
  void count_add(std::int32_t term, std::int64_t tokens, double weight_sum, std::int64_t microbatches,
                 std::error_code& code) noexcept {
    code = code_of(tokavg_count_add(ctx_, term, tokens, weight_sum, microbatches));
  }
  /** @brief tokavg_count_add. @param term which @param tokens how many @param weight_sum their weights; 0: tokens
   *  @param microbatches that begin with them @throws Error */
  void count_add(std::int32_t term, std::int64_t tokens, double weight_sum = 0, std::int64_t microbatches = 1) {
    check(tokavg_count_add(ctx_, term, tokens, weight_sum, microbatches));
  }
  /** @brief tokavg_discard. @param code set on failure */
  void discard(std::error_code& code) noexcept { code = code_of(tokavg_discard(ctx_)); }
  /** @brief tokavg_discard. @throws Error */
  void discard() { check(tokavg_discard(ctx_)); }

  /** @brief tokavg_reduce. @param options how @param code set on failure; the ticket is valid all the same unless it is
   * 0
   *  @param stream whose work comes first @return the step's ticket @collective */
  Ticket reduce(const ReduceOptions& options, std::error_code& code, tokavg_stream_t stream = nullptr) noexcept {
    tokavg_reduce_t c_options{};
    c_options.struct_size = sizeof c_options;
    c_options.flags = (options.done ? static_cast<std::uint32_t>(TOKAVG_REDUCE_DONE) : 0U) |
                      (options.step_id ? static_cast<std::uint32_t>(TOKAVG_REDUCE_STEP_ID) : 0U);
    c_options.step_id = options.step_id.value_or(0);
    c_options.accumulation_divisor = options.accumulation_divisor;
    Ticket ticket;
    code = code_of(tokavg_reduce(ctx_, &c_options, stream, &ticket.value));
    return ticket;
  }
  /** @brief tokavg_reduce. @param options how @param stream whose work comes first @return the ticket @throws Error */
  Ticket reduce(const ReduceOptions& options = {}, tokavg_stream_t stream = nullptr) {
    std::error_code code;
    const Ticket ticket = reduce(options, code, stream);
    throw_if(code, ctx_);
    return ticket;
  }
  /** @brief tokavg_flush. @param code set on failure @param stream whose work comes first @collective */
  void flush(std::error_code& code, tokavg_stream_t stream = nullptr) noexcept {
    code = code_of(tokavg_flush(ctx_, stream));
  }
  /** @brief tokavg_flush. @param stream whose work comes first @throws Error @collective */
  void flush(tokavg_stream_t stream = nullptr) { check(tokavg_flush(ctx_, stream)); }
  /** @brief tokavg_progress. @throws Error */
  void progress() { check(tokavg_progress(ctx_)); }

  /** @brief tokavg_wait. @param ticket which step @param what counts or losses @param timeout_ms 0 asks, -1 waits for
   * the deadline @param code set on failure; the result is filled in for PEER, DESYNC, COPIES and TIMEOUT too
   *  @return state and result */
  Step wait(Ticket ticket, Wait what, std::int64_t timeout_ms, std::error_code& code) noexcept {
    Step step{};
    step.result.struct_size = sizeof step.result;
    const tokavg_status_t status =
        tokavg_wait(ctx_, ticket.value, static_cast<std::int32_t>(what), timeout_ms, &step.result);
    code = code_of(status);
    step.state = static_cast<State>(status < 0 ? static_cast<tokavg_status_t>(TOKAVG_PENDING) : status);
    return step;
  }
  /** @brief tokavg_wait. @param ticket which step @param what counts or losses @param timeout_ms 0 asks, -1 waits for
   * the deadline @return state and result @throws Error */
  Step wait(Ticket ticket, Wait what = Wait::count, std::int64_t timeout_ms = -1) {
    std::error_code code;
    const Step step = wait(ticket, what, timeout_ms, code);
    throw_if(code, ctx_);
    return step;
  }
  /** @brief tokavg_factor. @param ticket which step @param term of it @param kind which factor @param code set on
   * failure
   *  @return the factor */
  double factor(Ticket ticket, std::int32_t term, Factor kind, std::error_code& code) noexcept {
    double value = 0;
    code = code_of(tokavg_factor(ctx_, ticket.value, term, static_cast<std::int32_t>(kind), &value));
    return value;
  }
  /** @brief tokavg_factor. @param ticket which step @param term of it @param kind which factor @return the factor
   *  @throws Error */
  double factor(Ticket ticket, std::int32_t term = 0, Factor kind = Factor::scale) {
    std::error_code code;
    const double value = factor(ticket, term, kind, code);
    throw_if(code, ctx_);
    return value;
  }
  /** @brief tokavg_factor_device. @param ticket which step @param term of it @param kind which factor @param stream in
   *  whose order it may be read @return an address in device memory @throws Error */
  const float* factor_device(Ticket ticket, std::int32_t term, Factor kind, tokavg_stream_t stream) {
    const float* address = nullptr;
    check(tokavg_factor_device(ctx_, ticket.value, term, static_cast<std::int32_t>(kind), stream, &address));
    return address;
  }

  /** @brief tokavg_loss. @param ticket a ticket or kOpen @param losses of tokens, on the host @param code set on
   * failure
   *  @return what to call backward on, and the sum */
  Recorded loss(Ticket ticket, const TokenLosses& losses, std::error_code& code) {
    const tokavg_labels_t labels = losses.labels.c();
    tokavg_loss_t c_loss = make_loss(TOKAVG_LOSS_TOKEN_LOSSES, labels.term, losses.loss_scale);
    c_loss.rows = labels.rows;
    c_loss.cols = labels.cols;
    c_loss.losses = losses.losses.c("losses", labels.rows * labels.cols);
    c_loss.labels = &labels;
    return record(ticket, c_loss, code);
  }
  /** @brief tokavg_loss. @param ticket a ticket or kOpen @param losses of tokens, on the host
   *  @return what to call backward on, and the sum @throws Error */
  Recorded loss(Ticket ticket, const TokenLosses& losses) {
    std::error_code code;
    const Recorded recorded = loss(ticket, losses, code);
    throw_if(code, ctx_);
    return recorded;
  }
  /** @brief tokavg_loss. @param ticket a ticket or kOpen @param reduced a sum or a mean @param code set on failure
   *  @return what to call backward on, and the sum */
  Recorded loss(Ticket ticket, const ReducedLoss& reduced, std::error_code& code) {
    const double value = reduced.value;
    tokavg_loss_t c_loss =
        make_loss(reduced.mean ? TOKAVG_LOSS_MEAN : TOKAVG_LOSS_SUM, reduced.term, reduced.loss_scale);
    c_loss.losses = Array(&value).c();
    c_loss.tokens = reduced.tokens;
    return record(ticket, c_loss, code);
  }
  /** @brief tokavg_loss. @param ticket a ticket or kOpen @param reduced a sum or a mean
   *  @return what to call backward on, and the sum @throws Error */
  Recorded loss(Ticket ticket, const ReducedLoss& reduced) {
    std::error_code code;
    const Recorded recorded = loss(ticket, reduced, code);
    throw_if(code, ctx_);
    return recorded;
  }
  /** @brief tokavg_loss, with the C struct: device losses, for instance. @param ticket a ticket or kOpen @param loss
   * what
   *  @param stream for CUDA losses @throws Error */
  void loss(Ticket ticket, const tokavg_loss_t& loss, tokavg_stream_t stream) {
    check(tokavg_loss(ctx_, ticket.value, &loss, stream));
  }

  /** @brief tokavg_cross_entropy. @param ticket a ticket or kOpen @param ce logits on the host, labels and outputs
   *  @param code set on failure @return what to call backward on, and the sum */
  Recorded cross_entropy(Ticket ticket, const CrossEntropy& ce, std::error_code& code) {
    const tokavg_labels_t labels = ce.labels.c();
    const std::int64_t rows = labels.rows * labels.cols;
    float backward = 0;
    Recorded recorded;
    tokavg_cross_entropy_t c_ce{};
    c_ce.struct_size = sizeof c_ce;
    c_ce.logits = ce.logits.c("logits", rows * ce.vocab);
    c_ce.vocab = ce.vocab;
    c_ce.labels = &labels;
    c_ce.label_smoothing = ce.label_smoothing;
    c_ce.z_loss = ce.z_loss;
    c_ce.logit_softcap = ce.logit_softcap;
    c_ce.loss_scale = ce.loss_scale;
    if (ce.gradient.c().data != nullptr) c_ce.gradient_out = ce.gradient.c("gradient", rows * ce.vocab);
    if (ce.losses.c().data != nullptr) c_ce.losses_out = ce.losses.c("losses", rows);
    if (ce.lse.c().data != nullptr) c_ce.lse_out = ce.lse.c("lse", rows);
    if (ce.argmax.c().data != nullptr) c_ce.argmax_out = ce.argmax.c("argmax", rows);
    c_ce.backward_out = &backward;
    c_ce.sum_out = &recorded.sum;
    code = code_of(tokavg_cross_entropy(ctx_, ticket.value, &c_ce, nullptr));
    recorded.backward = static_cast<double>(backward);
    return recorded;
  }
  /** @brief tokavg_cross_entropy. @param ticket a ticket or kOpen @param ce logits on the host, labels and outputs
   *  @return what to call backward on, and the sum @throws Error */
  Recorded cross_entropy(Ticket ticket, const CrossEntropy& ce) {
    std::error_code code;
    const Recorded recorded = cross_entropy(ticket, ce, code);
    throw_if(code, ctx_);
    return recorded;
  }
  /** @brief tokavg_cross_entropy, with the C struct. @param ticket a ticket or kOpen @param ce what
   *  @param stream for CUDA logits @throws Error */
  void cross_entropy(Ticket ticket, const tokavg_cross_entropy_t& ce, tokavg_stream_t stream) {
    check(tokavg_cross_entropy(ctx_, ticket.value, &ce, stream));
  }

  /** @brief tokavg_scale. @param ticket which step @param arrays contiguous ranges of float, double, BFloat16 or
   * Float16 on the host, multiplied in place by f of term 0 @throws Error */
  template <class... Ranges>
  requires(sizeof...(Ranges) > 0 && (std::constructible_from<Array, Ranges> && ...)) void scale(Ticket ticket,
                                                                                                Ranges&&... arrays) {
    const std::array<tokavg_scale_item_t, sizeof...(arrays)> items{item_of(arrays)...};
    scale(ticket, std::span<const tokavg_scale_item_t>(items));
  }
  /** @brief tokavg_scale. @param ticket which step @param items arrays of any kind @param term of the step @param kind
   *  which factor @param factor a further one; 0: 1 @param stream for CUDA arrays @throws Error */
  void scale(Ticket ticket, std::span<const tokavg_scale_item_t> items, std::int32_t term = 0,
             Factor kind = Factor::scale, double factor = 0, tokavg_stream_t stream = nullptr) {
    std::error_code code;
    scale(ticket, items, term, kind, factor, stream, code);
    throw_if(code, ctx_);
  }
  /** @brief tokavg_scale. @param ticket which step @param items arrays of any kind @param term of the step @param kind
   *  which factor @param factor a further one; 0: 1 @param stream for CUDA arrays @param code set on failure */
  void scale(Ticket ticket, std::span<const tokavg_scale_item_t> items, std::int32_t term, Factor kind, double factor,
             tokavg_stream_t stream, std::error_code& code) noexcept {
    tokavg_scale_t c_scale{};
    c_scale.struct_size = sizeof c_scale;
    c_scale.item_size = sizeof(tokavg_scale_item_t);
    c_scale.items = items.data();
    c_scale.n_items = static_cast<std::int64_t>(items.size());
    c_scale.term = term;
    c_scale.kind = static_cast<std::int32_t>(kind);
    c_scale.factor = factor;
    code = code_of(tokavg_scale(ctx_, ticket.value, &c_scale, stream));
  }
  /** @brief One array for Context::scale. @param elements a contiguous range @return an item that points to it */
  template <std::ranges::contiguous_range Range>
  static tokavg_scale_item_t item_of(Range&& elements) {
    const Array view(elements);
    const tokavg_array_t& array = view.c();
    return {array.data, static_cast<std::int64_t>(std::ranges::size(elements)), array.dtype, array.memory};
  }

  /** @brief tokavg_release. @param ticket which step @throws Error */
  void release(Ticket ticket) { check(tokavg_release(ctx_, ticket.value)); }

  /** @brief tokavg_describe. @return one JSON object @throws Error */
  std::string describe() const { return description_of(ctx_); }
  /** @brief tokavg_last_error. @return the text of this context's last error */
  std::string last_error() const { return api1::last_error(ctx_); }

  /** @brief tokavg_describe. @param ctx a context, or nullptr: the library @return one JSON object @throws Error */
  static std::string description_of(tokavg_context_t* ctx) {
    int64_t needed = 0;
    if (const tokavg_status_t status = tokavg_describe(ctx, nullptr, 0, &needed); status < 0) throw Error(status, ctx);
    std::string text(static_cast<std::size_t>(needed), '\0');
    if (const tokavg_status_t status = tokavg_describe(ctx, text.data(), needed, nullptr); status < 0) {
      throw Error(status, ctx);
    }
    text.resize(static_cast<std::size_t>(needed - 1));
    return text;
  }

 private:
  void check(tokavg_status_t status) const {
    if (status < 0) throw Error(status, ctx_);
  }

  static tokavg_loss_t make_loss(std::int32_t kind, std::int32_t term, double loss_scale) noexcept {
    tokavg_loss_t c_loss{};
    c_loss.struct_size = sizeof c_loss;
    c_loss.kind = kind;
    c_loss.term = term;
    c_loss.loss_scale = loss_scale;
    return c_loss;
  }

  // What comes back has the losses' type.
  Recorded record(Ticket ticket, tokavg_loss_t& c_loss, std::error_code& code) noexcept {
    Recorded recorded;
    float narrow = 0;
    const bool is_float = c_loss.losses.dtype == TOKAVG_DTYPE_F32;
    c_loss.backward_out = is_float ? static_cast<void*>(&narrow) : &recorded.backward;
    c_loss.sum_out = &recorded.sum;
    code = code_of(tokavg_loss(ctx_, ticket.value, &c_loss, nullptr));
    if (is_float) recorded.backward = static_cast<double>(narrow);
    return recorded;
  }

  tokavg_context_t* ctx_ = nullptr;
};

}  // namespace api1
}  // namespace tokavg

#endif
