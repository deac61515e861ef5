// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <thread>

#include "calls/calls.hpp"

namespace fuzz {
namespace {

void heard(void* user, std::int32_t level, const char* text) {
  EXPECT(user != nullptr && level >= TOKAVG_LOG_ERROR && level <= TOKAVG_LOG_DEBUG && *text != '\0', "a log line: %s",
         text);
}

// Mostly right. `patient`: it may have any deadline, since nothing is ever waited for.
tokavg_config_t make_config(Reader& in, bool patient) {
  tokavg_config_t config{};
  config.gradient_reduction = in.coin() ? TOKAVG_GRADIENT_MEAN : TOKAVG_GRADIENT_SUM;
  config.device = TOKAVG_DEVICE_HOST;
  config.device_index = -1;
  config.ignore_index = in.coin() ? -100 : in.pick_or_any<std::int64_t>({0, -1, INT64_MIN});
  config.divisor = in.one_in(4) ? TOKAVG_DIVISOR_WEIGHTS : TOKAVG_DIVISOR_TOKENS;
  config.terms = static_cast<std::int32_t>(1 + in.below(3));
  config.in_flight = static_cast<std::int32_t>(2 + in.below(3));
  config.timeout_ms = patient ? 1000 : 2;
  config.flags = TOKAVG_CONFIG_NO_ENV;
  static int listener;
  if (in.one_in(4)) {
    config.log = heard;
    config.log_user = &listener;
  }
  if (!in.one_in(8)) return config;
  static constexpr std::int32_t kIntegers[] = {-1, 0, 1, 2, 3, 8, 9, INT32_MAX, INT32_MIN};
  std::int32_t* const fields[] = {
      &config.transport, &config.label_copies,   &config.label_copy_index,  &config.asks_only,
      &config.progress,  &config.gradient_ranks, &config.microbatch_shards, &config.gradient_reduction,
      &config.terms,     &config.in_flight,      &config.divisor,           &config.device_index,
      &config.reserved};
  *in.pick(fields) = in.pick_or_any(kIntegers);
  if (in.coin()) config.accumulation_divisor = in.pick_or_any<double>({4, 0.1, -1, HUGE_VAL, 1e300});
  if (in.one_in(8)) config.host_threads = static_cast<std::int32_t>(in.below(3));
  if (in.one_in(8)) config.timeout_ms = -1;
  if (in.one_in(8)) config.warn_ms = 1;
  return config;
}

void fill_defaults(tokavg_config_t& config) {
  if (config.terms == 0) config.terms = 1;
  if (config.in_flight == 0) config.in_flight = 4;
  if (config.label_copies == 0) config.label_copies = 1;
  if (config.microbatch_shards == 0) config.microbatch_shards = 1;
  if (config.accumulation_divisor == 0) config.accumulation_divisor = 1;
}

Rank& add_rank(World& world, const tokavg_config_t& config, tokavg_context_t* ctx, std::size_t team, bool dependable) {
  auto rank = std::make_unique<Rank>();
  rank->ctx = ctx;
  rank->config = config;
  fill_defaults(rank->config);
  rank->team = team;
  rank->dependable = dependable;
  world.ranks.push_back(std::move(rank));
  return *world.ranks.back();
}

tokavg_context_t* nothing() { return reinterpret_cast<tokavg_context_t*>(std::uintptr_t{1} << 44); }

// What a failed tokavg_init leaves: no context, and a text of the thread that called it.
tokavg_status_t init(const tokavg_config_t* config, tokavg_context_t** ctx_out) {
  *ctx_out = nothing();
  const tokavg_status_t status = tokavg_init(config, ctx_out);
  check_thread_text(status);
  EXPECT((*ctx_out == nothing()) == (status != TOKAVG_OK), "%d, and ctx_out is %p", status,
         static_cast<void*>(*ctx_out));
  return status;
}

// Whose communicator is none, whatever its kind.
void set_bad_communicator(Reader& in, tokavg_config_t& config) {
  static constexpr std::int32_t kKinds[] = {0, TOKAVG_COMM_THREADS, TOKAVG_COMM_CALLER, 7, -1, INT32_MAX};
  config.comm_kind = in.pick(kKinds);
  // A handle is looked up and not followed; a table is a pointer.
  if (config.comm_kind != TOKAVG_COMM_CALLER) config.comm = reinterpret_cast<void*>(in.value<std::uintptr_t>());
}

}  // namespace

void open_alone(Reader& in, World& world) {
  Arguments arguments(in);
  tokavg_config_t config = make_config(in, true);
  bool dependable = true;
  tokavg_threads_t* group = nullptr;
  switch (in.below(8)) {
    case 0:
      set_bad_communicator(in, config);
      arguments.spoil();
      break;
    case 1:
      EXPECT(tokavg_threads_create(1, &group) == TOKAVG_OK, "tokavg_threads_create");
      config.comm_kind = TOKAVG_COMM_THREADS;
      config.comm = group;
      break;
    case 2:
    case 3: {
      world.tables.push_back(std::make_unique<TableOfOne>(in));
      TableOfOne& table = *world.tables.back();
      config.comm_kind = TOKAVG_COMM_CALLER;
      config.comm = arguments.present(table.entries());
      dependable = table.dependable();
      if (!dependable) config.timeout_ms = 2;
      break;
    }
    default: config.comm_kind = TOKAVG_COMM_SELF;
  }
  tokavg_config_t* const given = arguments.present(config);
  arguments.memory().remember();
  tokavg_context_t* ctx = nullptr;
  const tokavg_status_t status = init(given, &ctx);
  arguments.memory().check(status < 0);
  EXPECT(status == TOKAVG_OK || status < 0, "tokavg_init: %d", status);
  EXPECT(!arguments.must_fail() || status < 0, "tokavg_init accepted what is wrong");
  if (group != nullptr) EXPECT(tokavg_threads_free(group) == TOKAVG_OK, "tokavg_threads_free");
  if (status == TOKAVG_OK) add_rank(world, config, ctx, world.n_teams++, dependable);
}

// The collective calls of the second rank are made by a thread of its own; all others by this one.
void open_two_threads(Reader& in, World& world) {
  tokavg_threads_t* group = nullptr;
  EXPECT(tokavg_threads_create(2, &group) == TOKAVG_OK, "tokavg_threads_create");
  tokavg_config_t configs[2];
  for (tokavg_config_t& config : configs) config = tokavg_config_t{};
  configs[0] = make_config(in, false);
  configs[0].struct_size = sizeof configs[0];
  configs[0].comm_kind = TOKAVG_COMM_THREADS;
  configs[0].comm = group;
  if (configs[0].timeout_ms > 0) configs[0].timeout_ms = 5;
  configs[1] = configs[0];
  configs[1].comm_rank = 1;
  if (in.one_in(4)) configs[1].label_copy_index = 1;
  if (in.one_in(4)) configs[1].asks_only = 1;
  if (in.one_in(4)) configs[1].ignore_index = 3;
  if (in.one_in(16)) configs[0].label_copies = configs[1].label_copies = 2;
  tokavg_context_t* ctxs[2];
  tokavg_status_t statuses[2];
  std::thread second([&] { statuses[1] = init(&configs[1], &ctxs[1]); });
  statuses[0] = init(&configs[0], &ctxs[0]);
  second.join();
  EXPECT(tokavg_threads_free(group) == TOKAVG_OK, "tokavg_threads_free");
  const std::size_t team = world.n_teams++;
  for (std::size_t i = 0; i < 2; ++i) {
    if (statuses[i] == TOKAVG_OK) add_rank(world, configs[i], ctxs[i], team, false);
  }
}

void finalize(Reader& in, World& world, const Handle& handle) {
  std::vector<Handle> all = {handle};
  if (handle.rank != nullptr && in.coin()) {
    for (const auto& rank : world.ranks) {
      if (rank->team == handle.rank->team && rank.get() != handle.rank && rank->live)
        all.push_back({rank->ctx, rank.get()});
    }
  }
  std::vector<tokavg_status_t> statuses(all.size());
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < all.size(); ++i) {
    others.emplace_back([&, i] { statuses[i] = tokavg_finalize(all[i].ctx); });
  }
  statuses[0] = tokavg_finalize(handle.ctx);
  for (std::thread& other : others) other.join();
  for (std::size_t i = 0; i < all.size(); ++i) {
    Rank* rank = all[i].rank;
    const bool was_clean = rank != nullptr && rank->healthy() && rank->dependable && rank->mark == Mark::kClean;
    check_status(all[i], statuses[i], true);
    EXPECT(!was_clean || statuses[i] == TOKAVG_OK || rank->weighted, "tokavg_finalize: %d", statuses[i]);
    if (rank != nullptr && rank->dead == TOKAVG_OK) rank->finalized = true;
  }
}

void free_context(World& world, const Handle& handle) {
  const tokavg_status_t status = tokavg_free(handle.ctx);
  check_thread_text(status);
  const bool right = handle.rank != nullptr || handle.ctx == nullptr;
  EXPECT(status == (right ? TOKAVG_OK : TOKAVG_ERR_HANDLE), "tokavg_free: %d", status);
  static_cast<void>(world);
  if (handle.rank != nullptr) handle.rank->live = false;
}

void abort_context(const Handle& handle) {
  const tokavg_status_t status = tokavg_abort(handle.ctx);
  check_thread_text(status);
  Rank* rank = handle.rank;
  EXPECT(rank == nullptr || status == (rank->finalized ? TOKAVG_ERR_STATE : TOKAVG_OK), "tokavg_abort: %d", status);
  EXPECT(rank != nullptr || status == TOKAVG_ERR_HANDLE, "tokavg_abort: %d", status);
  if (rank == nullptr || rank->finalized) return;
  if (rank->dead == TOKAVG_OK) rank->dead = TOKAVG_ERR_ABORTED;
  rank->dependable = false;
}

void make_and_free_groups(Reader& in, World& world) {
  if (in.coin()) {
    static constexpr std::int32_t kRanks[] = {1, 2, 0, -1, 65536, 65537, INT32_MAX, INT32_MIN};
    const std::int32_t ranks = in.pick(kRanks);
    auto* group = reinterpret_cast<tokavg_threads_t*>(nothing());
    const tokavg_status_t status = tokavg_threads_create(ranks, &group);
    check_thread_text(status);
    const bool right = ranks >= 1 && ranks <= 65536;
    EXPECT((status == TOKAVG_OK) == right, "%d ranks: %d", ranks, status);
    EXPECT((reinterpret_cast<tokavg_context_t*>(group) != nothing()) == right, "group_out of a failed call");
    if (right) world.groups.push_back(group);
    return;
  }
  check_thread_text(tokavg_threads_create(1, nullptr));
  tokavg_threads_t* group = nullptr;
  const bool is_live = !world.groups.empty() && in.coin();
  if (is_live) {
    group = world.groups.back();
    world.groups.pop_back();
  } else if (!world.ranks.empty() && in.coin()) {
    group = reinterpret_cast<tokavg_threads_t*>(world.ranks.back()->ctx);
  }
  const tokavg_status_t status = tokavg_threads_free(group);
  check_thread_text(status);
  EXPECT(status == (is_live || group == nullptr ? TOKAVG_OK : TOKAVG_ERR_HANDLE), "tokavg_threads_free: %d", status);
}

void end(World& world) {
  for (const auto& rank : world.ranks) free_context(world, {rank->ctx, rank->live ? rank.get() : nullptr});
  for (tokavg_threads_t* group : world.groups) EXPECT(tokavg_threads_free(group) == TOKAVG_OK, "tokavg_threads_free");
}

}  // namespace fuzz
