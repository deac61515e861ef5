// SPDX-License-Identifier: Apache-2.0
#include "core/describe.hpp"

#include <nlohmann/json.hpp>

#include "build_options.hpp"
#include "core/context.hpp"
#include "tokavg/version.h"

namespace tokavg {
namespace {

using Json = nlohmann::ordered_json;

Json library_facts() {
  Json facts;
  facts["version"] = TOKAVG_VERSION_STRING;
  facts["abi"] = TOKAVG_ABI_VERSION;
  const auto has = [](const char* transport) {
    return ("," + transport_names() + ",").find("," + std::string(transport) + ",") != std::string::npos;
  };
  facts["build"] = {{"type", kBuildType},
                    {"compiler", kBuildCompiler},
                    {"sanitizer", kBuildSanitizer},
                    {"cuda", find_device(TOKAVG_DEVICE_CUDA) != nullptr},
                    {"nccl", has("nccl")},
                    {"mpi", has("mpi")},
                    {"mpi_flavours", kBuildMpiFlavours}};
  facts["devices"] = Json::object();
  for (const DeviceFactory* factory : device_factories()) {
    if (factory->describe != nullptr) facts["devices"][factory->name] = Json::parse(factory->describe());
  }
  facts["transports"] = Json::object();
  for (const TransportFactory* factory : transport_factories()) {
    if (factory->describe != nullptr) facts["transports"][factory->name] = Json::parse(factory->describe());
  }
  return facts;
}

Json config_facts(const tokavg_config_t& c) {
  return {{"comm_kind", c.comm_kind},
          {"gradient_reduction", c.gradient_reduction == TOKAVG_GRADIENT_MEAN ? "mean" : "sum"},
          {"gradient_ranks", c.gradient_ranks},
          {"label_copies", c.label_copies},
          {"label_copy_index", c.label_copy_index},
          {"asks_only", c.asks_only != 0},
          {"microbatch_shards", c.microbatch_shards},
          {"accumulation_divisor", c.accumulation_divisor},
          {"ignore_index", c.ignore_index},
          {"divisor", c.divisor == TOKAVG_DIVISOR_WEIGHTS ? "weights" : "tokens"},
          {"terms", c.terms},
          {"in_flight", c.in_flight},
          {"host_threads", c.host_threads},
          {"timeout_ms", c.timeout_ms},
          {"warn_ms", c.warn_ms}};
}

}  // namespace

std::string describe_library() { return library_facts().dump(2); }

std::string Context::describe() const {
  Json facts = library_facts();
  tokavg_config_t effective = settings_.config;
  effective.gradient_ranks = agreed_.gradient_ranks;
  facts["config"] = config_facts(effective);
  facts["overridden"] = settings_.overridden;
  facts["rank"] = transport_->rank();
  facts["ranks"] = transport_->ranks();
  facts["label_ranks"] = agreed_.label_ranks;
  facts["transport"] = Json::parse(transport_->describe());
  facts["device"] = Json::parse(streams_ ? streams_->describe() : device_->describe());
  facts["steps"] = newest_;
  facts["steps_without_audit"] = unaudited_steps_;
  facts["failed"] = dead_ ? Json(dead_->text()) : Json(nullptr);
  facts["finalized"] = finalized_;
  // Paths and texts of others may be any bytes.
  return facts.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tokavg
