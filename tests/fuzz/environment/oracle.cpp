// SPDX-License-Identifier: Apache-2.0
#include "environment/oracle.hpp"

#include <cmath>
#include <optional>
#include <vector>

namespace fuzz {
namespace {

std::optional<std::int64_t> whole_number(const std::string& text, std::int64_t low, std::int64_t high) {
  std::int64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + (digit - '0');
    if (value > high) return std::nullopt;
  }
  return value < low ? std::nullopt : std::optional(value);
}

class Reading {
 public:
  Reading(Expected& result, const Environment& environment) : result_(result), environment_(environment) {}

  template <typename Integer>
  void number(const char* name, std::int64_t low, std::int64_t high, Integer& field) {
    const std::string* text = find(name);
    if (text == nullptr) return;
    if (const auto value = whole_number(*text, low, high)) {
      field = static_cast<Integer>(*value);
      ++result_.overridden;
    } else {
      stop();
    }
  }
  void word(const char* name, const std::vector<std::string>& accepted, std::int32_t& field) {
    const std::string* text = find(name);
    if (text == nullptr) return;
    for (std::size_t i = 0; i < accepted.size(); ++i) {
      if (*text != accepted[i]) continue;
      field = static_cast<std::int32_t>(i);
      ++result_.overridden;
      return;
    }
    stop();
  }
  void anything(const char* name) {
    if (find(name) != nullptr) ++result_.overridden;
  }

 private:
  // nullptr: not set, empty, or after the first variable that was wrong.
  const std::string* find(const char* name) const {
    const auto found = environment_.find(name);
    return result_.environment_is_wrong || found == environment_.end() || found->second.empty() ? nullptr
                                                                                                : &found->second;
  }
  void stop() { result_.environment_is_wrong = true; }

  Expected& result_;
  const Environment& environment_;
};

bool within(std::int64_t value, std::int64_t low, std::int64_t high) { return value >= low && value <= high; }

bool fields_are_right(const tokavg_config_t& c) {
  return within(c.gradient_reduction, 1, 2) && within(c.transport, 0, 1) && within(c.device, 0, 2) &&
         c.device_index >= -1 && within(c.host_threads, 1, 1024) && c.gradient_ranks >= 0 && c.label_copies >= 1 &&
         within(c.label_copy_index, 0, c.label_copies - 1) && within(c.asks_only, 0, 1) && c.microbatch_shards >= 1 &&
         std::isfinite(c.accumulation_divisor) && c.accumulation_divisor > 0 && within(c.divisor, 0, 1) &&
         within(c.terms, 1, 8) && within(c.in_flight, 2, 16) && within(c.progress, 0, 2) &&
         within(c.timeout_ms, 1, INT32_MAX) && within(c.warn_ms, 1, INT32_MAX) && c.flags <= 3 && c.reserved == 0;
}

}  // namespace

Expected expected(const tokavg_config_t& given, const Environment& environment) {
  Expected result;
  tokavg_config_t& c = result.config;
  c = given;
  for (std::int32_t* one : {&c.host_threads, &c.label_copies, &c.microbatch_shards, &c.terms}) {
    if (*one == 0) *one = 1;
  }
  if (c.accumulation_divisor == 0) c.accumulation_divisor = 1;
  if (c.in_flight == 0) c.in_flight = 4;
  if (c.timeout_ms == 0) c.timeout_ms = 300000;
  if (c.warn_ms == 0) c.warn_ms = 60000;
  if ((c.flags & TOKAVG_CONFIG_NO_ENV) == 0) {
    Reading reading(result, environment);
    reading.number("TOKAVG_TIMEOUT_MS", 1, INT32_MAX, c.timeout_ms);
    reading.number("TOKAVG_WARN_MS", 1, INT32_MAX, c.warn_ms);
    reading.number("TOKAVG_IN_FLIGHT", 2, 16, c.in_flight);
    reading.number("TOKAVG_HOST_THREADS", 1, 1024, c.host_threads);
    reading.word("TOKAVG_PROGRESS", {"auto", "thread", "caller"}, c.progress);
    reading.word("TOKAVG_TRANSPORT", {"auto", "nccl"}, c.transport);
    std::int32_t level = 0;
    reading.word("TOKAVG_LOG", {"off", "error", "warning", "info", "debug"}, level);
    for (const char* name : {"TOKAVG_PLUGIN_PATH", "TOKAVG_NCCL_PATH", "TOKAVG_SIMD"}) reading.anything(name);
  }
  result.config_is_wrong = !fields_are_right(c);
  return result;
}

}  // namespace fuzz
