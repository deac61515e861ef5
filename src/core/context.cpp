// SPDX-License-Identifier: Apache-2.0
#include "core/context.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "core/messenger.hpp"

namespace tokavg {
namespace {

[[noreturn]] void fail_finalized() {
  fail(TOKAVG_ERR_STATE,
       "the context is finalized; only tokavg_wait and tokavg_factor on kept tickets, tokavg_describe, "
       "tokavg_last_error and tokavg_free work now");
}

[[noreturn]] void fail_forked(pid_t owner) {
  fail(TOKAVG_ERR_STATE,
       "this is a child process after fork (process %d, the context belongs to %d); make a context of "
       "its own here, or exec",
       static_cast<int>(getpid()), static_cast<int>(owner));
}

std::unique_ptr<Transport> open_transport(const Settings& settings) {
  const tokavg_config_t& c = settings.config;
  if (c.comm_kind < TOKAVG_COMM_SELF || c.comm_kind > TOKAVG_COMM_CALLER) {
    fail(TOKAVG_ERR_CONFIG,
         "config.comm_kind is %d; set it to one of the TOKAVG_COMM_ constants, for instance "
         "TOKAVG_COMM_MPI",
         c.comm_kind);
  }
  TransportOptions options;
  options.comm_kind = c.comm_kind;
  options.comm = c.comm;
  options.comm_fortran = c.comm_fortran;
  options.comm_rank = c.comm_rank;
  options.progress = c.progress;
  options.timeout_ms = std::clamp<std::int64_t>(c.timeout_ms, 1, INT32_MAX);
  const MessageLayout largest{std::clamp(c.terms, 1, static_cast<std::int32_t>(TOKAVG_MAX_TERMS)),
                              std::clamp(c.in_flight, 2, 16)};
  options.max_words = static_cast<std::int64_t>(std::max(kHandshakeWords, largest.words()));
  options.plugin_path = settings.plugin_path;
  options.nccl_path = settings.nccl_path;
  options.device_index = c.device_index;
  options.own_communicator = (c.flags & TOKAVG_CONFIG_NCCL_OWN) != 0;
  // An unknown transport is this rank's own mistake: check_settings finds it, and the handshake tells the others.
  const bool known = c.transport == TOKAVG_TRANSPORT_AUTO || c.transport == TOKAVG_TRANSPORT_NCCL;
  options.transport = known ? c.transport : static_cast<std::int32_t>(TOKAVG_TRANSPORT_AUTO);
  return open_transport(options);
}

DeviceOptions device_options(const Settings& settings) {
  const tokavg_config_t& c = settings.config;
  DeviceOptions options;
  options.device_index = c.device_index;
  options.host_threads = c.host_threads;
  options.terms = c.terms;
  options.in_flight = c.in_flight;
  options.simd = settings.simd;
  return options;
}

}  // namespace

Context::Context(const Settings& settings) : settings_(settings), process_(getpid()) {
  last_thread_.store(pthread_self(), std::memory_order_relaxed);
}

Context::~Context() {
  // Sums in flight are given up before the channel that carries them goes.
  if (process_ != getpid()) {
    // A child after fork: whatever the transport holds is the parent's, and stays untouched.
    static_cast<void>(courier_.release());
    static_cast<void>(service_.release());
    static_cast<void>(streams_.release());
    static_cast<void>(transport_.release());
    static_cast<void>(device_.release());
    return;
  }
  if (service_) {
    service_->stop();
    // What is on the transport's own stream it gives up by itself; of the graphs it knows nothing.
    if (!finalized_ && replay_unfinished() && transport_->stream_sums() != nullptr) transport_->stream_sums()->cancel();
  }
  courier_.reset();
  service_.reset();
  streams_.reset();
  transport_.reset();
}

std::shared_ptr<Context> Context::open(const Settings& settings) {
  const Clock::time_point begin = Clock::now();
  // Shared from the start: when the ranks have agreed, nothing may fail any more that the others do not hear of.
  std::shared_ptr<Context> context(new Context(settings));
  // Whatever is wrong with this rank alone is told to the others in the handshake: nobody waits for a deadline.
  context->transport_ = open_transport(settings);
  const std::optional<Error> failure = caught([&] {
    check_settings(settings);
    context->make_devices();
  });
  bool all_know = false;
  try {
    context->agree(begin, failure, all_know);
    if (context->streams_) context->open_streams();
  } catch (...) {
    // They would wait for this rank, in the handshake or in the first step.
    if (!all_know) static_cast<void>(caught([&] { context->transport_->abort(); }));
    throw;
  }
  return context;
}

void Context::make_devices() {
  DeviceOptions options = device_options(settings_);
  if (options.device_index < 0) options.device_index = transport_->device_index();
  device_ = find_device(TOKAVG_DEVICE_HOST)->make(options);
  const std::int32_t wanted = settings_.config.device;
  if (wanted == TOKAVG_DEVICE_HOST) return;
  const bool may_serve = transport_->stream_sums() != nullptr || transport_->abort_from_any_thread();
  for (const DeviceFactory* factory : device_factories()) {
    if (factory->make_streams == nullptr) continue;
    if (wanted == TOKAVG_DEVICE_AUTO && !(may_serve && factory->usable(options))) continue;
    streams_ = factory->make_streams(options);
    if (may_serve) return start_service();
    fail(TOKAVG_ERR_UNSUPPORTED,
         "config.device is TOKAVG_DEVICE_CUDA, but sums over this communicator advance only in calls of the context's "
         "own thread, which may be elsewhere while the GPU waits; initialise MPI with MPI_THREAD_MULTIPLE, give a "
         "caller's table TOKAVG_TRANSPORT_CAN_ANY_THREAD, or set config.transport to TOKAVG_TRANSPORT_NCCL");
  }
}

void Context::agree(Clock::time_point begin, const std::optional<Error>& own_failure, bool& all_know) {
  // Not checked yet where this rank has failed.
  const Patience patience{std::clamp<std::int64_t>(settings_.config.timeout_ms, 1, INT32_MAX),
                          std::clamp<std::int64_t>(settings_.config.warn_ms, 1, INT32_MAX)};
  courier_ = std::make_unique<Messenger>(*transport_, patience, aborted_,
                                         [this](const std::string& text) { log(TOKAVG_LOG_WARNING, text); });
  Message hello;
  hello.name = "tokavg_init";
  hello.asked = begin;  // one deadline for all of tokavg_init, opening the transport included
  hello.words = offer(settings_, transport_->rank(), own_failure.has_value());
  courier_->post(std::move(hello));
  try {
    courier_->wait(0, -1, [&](const Message& arrived) {
      agreed_ = conclude(settings_, arrived.words, transport_->ranks(), own_failure);
    });
  } catch (const Error& error) {
    // All come to the same conclusion, and to the same list of late ranks; that an MPI call failed only one may know.
    all_know = error.status() != TOKAVG_ERR_TRANSPORT;
    throw;
  }
  const tokavg_config_t& c = settings_.config;
  layout_ = MessageLayout{c.terms, c.in_flight};
  rule_ = FactorRule{c.gradient_reduction == TOKAVG_GRADIENT_MEAN, agreed_.gradient_ranks, c.microbatch_shards,
                     c.divisor == TOKAVG_DIVISOR_WEIGHTS};
  all_know = true;  // these values are agreed
  check_factors(c.accumulation_divisor, "config");
  all_know = false;
  log(TOKAVG_LOG_INFO, format("rank %d of %d: %d ranks hold labels, gradients of %d ranks are %s", transport_->rank(),
                              transport_->ranks(), agreed_.label_ranks, agreed_.gradient_ranks,
                              rule_.gradients_averaged ? "averaged" : "summed"));
}

// A factor that is not finite would poison every gradient; agreed values, so that all ranks find the same.
void Context::check_factors(double accumulation_divisor, const char* where) const {
  const double most = static_cast<double>(rule_.gradient_ranks) * static_cast<double>(rule_.microbatch_shards);
  if (!std::isfinite(most * accumulation_divisor)) {
    fail(std::strcmp(where, "config") == 0 ? TOKAVG_ERR_CONFIG : TOKAVG_ERR_ARGUMENT,
         "%s.accumulation_divisor is %g; times gradient_ranks and microbatch_shards (%g) it is not finite", where,
         accumulation_divisor, most);
  }
}

void Context::finalize() {
  check_usable();
  check_process();
  make_room(false);
  send_finalize();
  courier_->wait(sequence_, -1, [this](const Message& message) { receive(message); });
  if (service_) service_->stop();
  const std::lock_guard lock(closing_);
  finalized_ = true;
  transport_->close();
  if (finalize_failure_) throw TicketError(*finalize_failure_);
}

void Context::abort() {
  // Either way the transport must not be touched: it is closed, or the parent's.
  if (process_ != getpid()) fail_forked(process_);
  const std::lock_guard lock(closing_);
  if (finalized_) fail_finalized();
  aborted_.store(true);
  // First: what comes of a sum that is being given up is not to be believed.
  if (service_) service_->fail_with({TOKAVG_ERR_ABORTED, "tokavg_abort was called on this rank"});
  // Where only the context's own thread may talk to the transport, that thread tells the others when it notices.
  const bool own_thread = pthread_equal(pthread_self(), last_thread_.load(std::memory_order_relaxed)) != 0;
  if (transport_->abort_from_any_thread() || own_thread) transport_->abort();
}

void Context::check_usable(bool reading) const {
  if (dead_) throw *dead_;
  if (aborted_.load(std::memory_order_relaxed)) fail(TOKAVG_ERR_ABORTED, "tokavg_abort was called on this rank");
  if (finalized_ && !reading) fail_finalized();
}

// Before the transport is touched. Not in every call: asking for the process costs more than counting a short row.
void Context::check_process() {
  if (process_ != getpid()) fail_forked(process_);
  last_thread_.store(pthread_self(), std::memory_order_relaxed);
}

namespace {

// Keeps the first error. Where there is no memory for its text the status still tells.
void keep(std::optional<Error>& slot, const Error& error) noexcept {
  if (slot) return;
  try {
    slot = error;
  } catch (...) {
    slot.emplace(error.status(), std::string());
  }
}

}  // namespace

void Context::note(const Error& error, Blame blame) noexcept {
  if (process_ == getpid()) {
    const bool of_a_ticket = dynamic_cast<const TicketError*>(&error) != nullptr;
    if (is_sticky(error.status())) {
      die(error);
    } else if (!finalized_ && !of_a_ticket && blame != Blame::kNothing) {
      keep(blame == Blame::kOpenStep ? open_failure_ : closed_failure_, error);
    }
  }
  try {
    last_text_ = error.text();
  } catch (...) {
    last_text_.clear();
  }
}

void Context::die(const Error& error) noexcept {
  if (dead_) return;
  keep(dead_, error);
  // Of a deadline and of a different step all ranks learn by themselves, and of an abort elsewhere they were told.
  const bool known = error.status() == TOKAVG_ERR_TIMEOUT || error.status() == TOKAVG_ERR_DESYNC ||
                     (error.status() == TOKAVG_ERR_ABORTED && !aborted_);
  // First: what comes of a sum that is being given up is not to be believed.
  if (courier_) courier_->give_up(error);
  try {
    if (!known && !finalized_) transport_->abort();
  } catch (...) {
    // As far as they can be told.
  }
  log(TOKAVG_LOG_ERROR, error.text());
}

bool Context::logs(std::int32_t level) const noexcept {
  return settings_.config.log != nullptr && level <= settings_.log_level;
}

void Context::log(std::int32_t level, const std::string& text) const noexcept {
  if (logs(level)) settings_.config.log(settings_.config.log_user, level, text.c_str());
}

}  // namespace tokavg
