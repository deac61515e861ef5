// SPDX-License-Identifier: Apache-2.0
#include "core/settings.hpp"

#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace tokavg {
namespace {

constexpr std::int64_t kLongest = INT32_MAX;

// Not getenv: a setuid program must not let its caller choose plugins or deadlines.
const char* variable(const Settings& settings, const char* name) {
  if ((settings.config.flags & TOKAVG_CONFIG_NO_ENV) != 0) return nullptr;
  const char* value = secure_getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

template <typename Integer>
void override_integer(Settings& settings, const char* name, const char* field, Integer& target, std::int64_t low,
                      std::int64_t high) {
  const char* text = variable(settings, name);
  if (text == nullptr) return;
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text, &end, 10);
  const bool digits = std::isdigit(static_cast<unsigned char>(*text)) != 0;  // strtoll would take a blank or a sign
  if (!digits || errno != 0 || *end != '\0' || value < low || value > high) {
    fail(TOKAVG_ERR_CONFIG, "the environment variable %s is \"%s\"; it must be a whole number from %lld to %lld", name,
         text, static_cast<long long>(low), static_cast<long long>(high));
  }
  target = static_cast<Integer>(value);
  settings.overridden.push_back(format("%s=%lld (%s)", field, value, name));
}

struct Choice {
  const char* text;
  std::int32_t value;
};

template <std::size_t N>
void override_choice(Settings& settings, const char* name, const char* field, std::int32_t& target,
                     const Choice (&choices)[N]) {
  const char* text = variable(settings, name);
  if (text == nullptr) return;
  std::string accepted;
  for (const Choice& choice : choices) {
    if (std::strcmp(choice.text, text) == 0) {
      target = choice.value;
      settings.overridden.push_back(format("%s=%s (%s)", field, text, name));
      return;
    }
    accepted += accepted.empty() ? choice.text : format(", %s", choice.text);
  }
  fail(TOKAVG_ERR_CONFIG, "the environment variable %s is \"%s\"; it must be one of %s", name, text, accepted.c_str());
}

void apply_environment(Settings& settings) {
  tokavg_config_t& c = settings.config;
  override_integer(settings, "TOKAVG_TIMEOUT_MS", "timeout_ms", c.timeout_ms, 1, kLongest);
  override_integer(settings, "TOKAVG_WARN_MS", "warn_ms", c.warn_ms, 1, kLongest);
  override_integer(settings, "TOKAVG_IN_FLIGHT", "in_flight", c.in_flight, 2, 16);
  override_integer(settings, "TOKAVG_HOST_THREADS", "host_threads", c.host_threads, 1, 1024);
  override_choice(
      settings, "TOKAVG_PROGRESS", "progress", c.progress,
      {{"auto", TOKAVG_PROGRESS_AUTO}, {"thread", TOKAVG_PROGRESS_THREAD}, {"caller", TOKAVG_PROGRESS_CALLER}});
  override_choice(settings, "TOKAVG_TRANSPORT", "transport", c.transport,
                  {{"auto", TOKAVG_TRANSPORT_AUTO}, {"nccl", TOKAVG_TRANSPORT_NCCL}});
  override_choice(settings, "TOKAVG_LOG", "log", settings.log_level,
                  {{"off", 0},
                   {"error", TOKAVG_LOG_ERROR},
                   {"warning", TOKAVG_LOG_WARNING},
                   {"info", TOKAVG_LOG_INFO},
                   {"debug", TOKAVG_LOG_DEBUG}});
  if (const char* path = variable(settings, "TOKAVG_PLUGIN_PATH"); path != nullptr) {
    settings.plugin_path = path;
    settings.overridden.push_back(format("plugin_path=%s (TOKAVG_PLUGIN_PATH)", path));
  }
  if (const char* path = variable(settings, "TOKAVG_NCCL_PATH"); path != nullptr) {
    settings.nccl_path = path;
    settings.overridden.push_back(format("nccl_path=%s (TOKAVG_NCCL_PATH)", path));
  }
  if (const char* name = variable(settings, "TOKAVG_SIMD"); name != nullptr) {
    settings.simd = name;
    settings.overridden.push_back(format("simd=%s (TOKAVG_SIMD)", name));
  }
}

template <typename Value>
void default_to(Value& field, Value value) {
  if (field == 0) field = value;
}

void check_range(const char* field, std::int64_t value, std::int64_t low, std::int64_t high, const char* remedy) {
  if (value < low || value > high) {
    fail(TOKAVG_ERR_CONFIG, "config.%s is %lld; it must be from %lld to %lld%s%s", field, static_cast<long long>(value),
         static_cast<long long>(low), static_cast<long long>(high), *remedy != '\0' ? ": " : "", remedy);
  }
}

}  // namespace

Settings make_settings(const tokavg_config_t& config) {
  Settings settings;
  settings.config = config;
  tokavg_config_t& c = settings.config;
  default_to(c.host_threads, 1);
  default_to(c.label_copies, 1);
  default_to(c.microbatch_shards, 1);
  default_to(c.accumulation_divisor, 1.0);
  default_to(c.terms, 1);
  default_to(c.in_flight, 4);
  default_to(c.timeout_ms, std::int64_t{300000});
  default_to(c.warn_ms, std::int64_t{60000});
  try {
    apply_environment(settings);
  } catch (const Error& error) {
    settings.wrong = error;
  }
  return settings;
}

void check_settings(const Settings& settings) {
  if (settings.wrong) throw *settings.wrong;
  const tokavg_config_t& c = settings.config;
  if (c.gradient_reduction == 0) {
    fail(TOKAVG_ERR_CONFIG,
         "config.gradient_reduction is not set; say what the trainer's own reduction does with gradients: "
         "TOKAVG_GRADIENT_MEAN (averages them, as DDP and FSDP do) or TOKAVG_GRADIENT_SUM");
  }
  check_range("gradient_reduction", c.gradient_reduction, 1, 2, "TOKAVG_GRADIENT_MEAN or TOKAVG_GRADIENT_SUM");
  check_range("transport", c.transport, 0, 1, "TOKAVG_TRANSPORT_AUTO or TOKAVG_TRANSPORT_NCCL");
  check_range("device", c.device, 0, 2, "TOKAVG_DEVICE_AUTO, _HOST or _CUDA");
  check_range("device_index", c.device_index, -1, INT32_MAX, "-1 is the current device");
  check_range("host_threads", c.host_threads, 1, 1024, "");
  check_range("gradient_ranks", c.gradient_ranks, 0, INT32_MAX, "0 is label ranks / label_copies");
  check_range("label_copies", c.label_copies, 1, INT32_MAX, "");
  check_range("label_copy_index", c.label_copy_index, 0, c.label_copies - 1,
              "which of the label_copies copies this rank holds");
  check_range("asks_only", c.asks_only, 0, 1, "");
  check_range("microbatch_shards", c.microbatch_shards, 1, INT32_MAX, "");
  if (!(std::isfinite(c.accumulation_divisor) && c.accumulation_divisor > 0)) {
    fail(TOKAVG_ERR_CONFIG, "config.accumulation_divisor is %g; it must be finite and above 0", c.accumulation_divisor);
  }
  check_range("divisor", c.divisor, 0, 1, "TOKAVG_DIVISOR_TOKENS or TOKAVG_DIVISOR_WEIGHTS");
  check_range("terms", c.terms, 1, TOKAVG_MAX_TERMS, "");
  check_range("in_flight", c.in_flight, 2, 16, "");
  check_range("progress", c.progress, 0, 2, "TOKAVG_PROGRESS_AUTO, _THREAD or _CALLER");
  check_range("timeout_ms", c.timeout_ms, 1, kLongest, "");
  check_range("warn_ms", c.warn_ms, 1, kLongest, "");
  if ((c.flags & ~static_cast<std::uint32_t>(TOKAVG_CONFIG_NO_ENV | TOKAVG_CONFIG_NCCL_OWN)) != 0 || c.reserved != 0) {
    fail(TOKAVG_ERR_UNSUPPORTED,
         "config.flags is 0x%x and config.reserved is %d; bits that this version does not know "
         "must be 0",
         c.flags, c.reserved);
  }
}

}  // namespace tokavg
