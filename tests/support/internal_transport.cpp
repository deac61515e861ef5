// SPDX-License-Identifier: Apache-2.0
#include "support/internal_transport.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "transport/thread_group.hpp"
#include "transport/transport.hpp"

struct internal_transport {
  std::unique_ptr<tokavg::Transport> transport;
};
struct internal_sum_in_flight {
  std::unique_ptr<tokavg::Reduction> reduction;
};
struct internal_group {
  std::shared_ptr<void> group;
};

namespace {

using namespace tokavg;

void put(const std::string& text, char* text_out, size_t capacity) {
  std::snprintf(text_out, capacity, "%s", text.c_str());
}

// The value of call(), or `otherwise` and the fault that was thrown.
template <typename Value, typename Call>
Value guarded(internal_fault_t* fault, Value otherwise, Call call) noexcept {
  *fault = {};
  try {
    return call();
  } catch (const Error& error) {
    fault->status = error.status();
    put(error.text(), fault->text, sizeof fault->text);
  } catch (...) {
    fault->status = TOKAVG_ERR_INTERNAL;
  }
  return otherwise;
}

const TransportFactory& factory_for(std::int32_t comm_kind) {
  for (const TransportFactory* factory : transport_factories()) {
    if (factory->serves(comm_kind, TOKAVG_TRANSPORT_AUTO)) return *factory;
  }
  fail(TOKAVG_ERR_NOT_BUILT, "no transport serves comm_kind %d", comm_kind);
}

}  // namespace

internal_group_t* internal_group_new(int32_t ranks, internal_fault_t* fault) {
  return guarded<internal_group_t*>(fault, nullptr, [&] { return new internal_group{make_thread_group(ranks)}; });
}

const void* internal_group_comm(const internal_group_t* group) { return group->group.get(); }

void internal_group_free(internal_group_t* group) { delete group; }

internal_transport_t* internal_open(int32_t comm_kind, const void* comm, int32_t comm_rank, int32_t progress,
                                    const char* plugin_path, internal_fault_t* fault) {
  return guarded<internal_transport_t*>(fault, nullptr, [&] {
    TransportOptions options;
    options.comm_kind = comm_kind;
    options.comm = comm;
    options.comm_rank = comm_rank;
    options.progress = progress;
    options.timeout_ms = 2000;
    options.max_words = 256;
    options.plugin_path = plugin_path;
    return new internal_transport{factory_for(comm_kind).open(options)};
  });
}

internal_transport_t* internal_open_threads(const internal_group_t* group, int32_t rank, internal_fault_t* fault) {
  return internal_open(TOKAVG_COMM_THREADS, group->group.get(), rank, TOKAVG_PROGRESS_AUTO, "", fault);
}

void internal_free(internal_transport_t* transport) { delete transport; }

int32_t internal_rank(const internal_transport_t* transport) { return transport->transport->rank(); }

int32_t internal_ranks(const internal_transport_t* transport) { return transport->transport->ranks(); }

int internal_abort_from_any_thread(const internal_transport_t* transport) {
  return transport->transport->abort_from_any_thread() ? 1 : 0;
}

void internal_abort(internal_transport_t* transport) { transport->transport->abort(); }

void internal_close(internal_transport_t* transport) { transport->transport->close(); }

void internal_describe_transport(const internal_transport_t* transport, char* text_out, size_t capacity) {
  put(transport->transport->describe(), text_out, capacity);
}

void internal_describe_kind(int32_t comm_kind, char* text_out, size_t capacity) {
  internal_fault_t fault;
  put(guarded<std::string>(&fault, "", [&] { return factory_for(comm_kind).describe(); }), text_out, capacity);
}

internal_sum_in_flight_t* internal_start(internal_transport_t* transport, uint64_t* words, int64_t n_words,
                                         internal_fault_t* fault) {
  return guarded<internal_sum_in_flight_t*>(fault, nullptr, [&] {
    return new internal_sum_in_flight{transport->transport->start({words, static_cast<size_t>(n_words)})};
  });
}

int internal_test(internal_sum_in_flight_t* sum, internal_fault_t* fault) {
  return guarded<int>(fault, 0, [&] { return sum->reduction->test() ? 1 : 0; });
}

int32_t internal_late_ranks(internal_sum_in_flight_t* sum, int32_t* ranks_out, int32_t capacity) {
  internal_fault_t fault;
  return guarded<int32_t>(&fault, -1, [&] {
    const std::vector<std::int32_t> late = sum->reduction->late_ranks();
    for (std::size_t i = 0; i < late.size() && i < static_cast<std::size_t>(capacity); ++i) ranks_out[i] = late[i];
    return static_cast<int32_t>(late.size());
  });
}

void internal_describe_sum(const internal_sum_in_flight_t* sum, char* text_out, size_t capacity) {
  put(sum->reduction->describe(), text_out, capacity);
}

void internal_drop(internal_sum_in_flight_t* sum) { delete sum; }

int internal_is_json_object(const char* text) {
  return nlohmann::json::parse(text, nullptr, false).is_object() ? 1 : 0;
}
