// SPDX-License-Identifier: Apache-2.0
// A configuration of any size and content under any environment: read as the header says, refused with a text, or a
// context.
#include <cmath>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/struct_sizes.hpp"
#include "core/settings.hpp"
#include "environment/oracle.hpp"
#include "expect.hpp"
#include "reader.hpp"
#include "tokavg/tokavg.h"

namespace fuzz {
namespace {

using namespace tokavg;

constexpr const char* kNames[] = {"TOKAVG_TIMEOUT_MS", "TOKAVG_WARN_MS",      "TOKAVG_PROGRESS", "TOKAVG_TRANSPORT",
                                  "TOKAVG_IN_FLIGHT",  "TOKAVG_HOST_THREADS", "TOKAVG_SIMD",     "TOKAVG_PLUGIN_PATH",
                                  "TOKAVG_NCCL_PATH",  "TOKAVG_LOG"};

std::string variable(Reader& in) {
  static constexpr const char* kTexts[] = {"",           "1",          "2",     "16",       "1024",
                                           "2147483647", "2147483648", "00004", " 4",       "+4",
                                           "-1",         "0x4",        "4 ",    "1e3",      "auto",
                                           "thread",     "caller",     "nccl",  "off",      "error",
                                           "warning",    "info",       "debug", "portable", "avx2",
                                           "avx512",     "neon",       "AUTO",  "/folder",  "99999999999999999999"};
  std::string text = in.coin() ? in.pick(kTexts) : in.text(255);
  return text.substr(0, text.find('\0'));
}

Environment set_environment(Reader& in) {
  Environment environment;
  for (const char* name : kNames) unsetenv(name);
  for (std::size_t n = in.below(5); n > 0; --n) {
    const char* name = in.pick(kNames);
    environment[name] = variable(in);
    setenv(name, environment[name].c_str(), 1);
  }
  return environment;
}

// Close to something that is right, or nothing is ever reached but the first check.
tokavg_config_t make_config(Reader& in) {
  tokavg_config_t config{};
  EXPECT(tokavg_config_init(&config, sizeof config) == TOKAVG_OK, "tokavg_config_init");
  config.comm_kind = TOKAVG_COMM_SELF;
  config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
  static constexpr std::int32_t kIntegers[] = {0, 1, 2, 3, 4, 8, 9, 16, 17, 1024, 1025, -1, INT32_MAX, INT32_MIN};
  static constexpr std::int64_t kTimes[] = {0, 1, 2, 1000, INT32_MAX, std::int64_t{INT32_MAX} + 1, -1, INT64_MAX};
  static constexpr double kDivisors[] = {0.0, 1.0, 8.0, -1.0, 1e300, 1e-320, HUGE_VAL, -HUGE_VAL, -0.0};
  std::int32_t* const fields[] = {&config.transport,         &config.device,       &config.device_index,
                                  &config.host_threads,      &config.terms,        &config.gradient_reduction,
                                  &config.gradient_ranks,    &config.label_copies, &config.label_copy_index,
                                  &config.asks_only,         &config.in_flight,    &config.progress,
                                  &config.microbatch_shards, &config.divisor,      &config.reserved,
                                  &config.comm_rank,         &config.comm_fortran};
  for (std::size_t n = in.below(6); n > 0; --n) *in.pick(fields) = in.pick_or_any(kIntegers);
  if (in.coin()) config.timeout_ms = in.pick_or_any(kTimes);
  if (in.coin()) config.warn_ms = in.pick_or_any(kTimes);
  if (in.coin()) config.accumulation_divisor = in.pick_or_any(kDivisors);
  if (in.coin()) config.ignore_index = in.value<std::int64_t>();
  static constexpr std::uint32_t kFlags[] = {0, 0, TOKAVG_CONFIG_NO_ENV, TOKAVG_CONFIG_NCCL_OWN, 3};
  config.flags = in.pick_or_any(kFlags);
  return config;
}

void check_settings_of(const tokavg_config_t& config, const Environment& environment) {
  const Expected right = expected(config, environment);
  const Settings settings = make_settings(config);
  EXPECT(settings.wrong.has_value() == right.environment_is_wrong, "the environment: %s",
         settings.wrong ? settings.wrong->what() : "accepted");
  EXPECT(settings.overridden.size() == right.overridden, "%zu settings are overridden", settings.overridden.size());
  EXPECT(std::memcmp(&settings.config, &right.config, sizeof right.config) == 0, "a field has another value");
  const std::optional<Error> error = caught([&] { check_settings(settings); });
  EXPECT(error.has_value() == (right.environment_is_wrong || right.config_is_wrong), "check_settings: %s",
         error ? error->what() : "accepted");
  if (error)
    EXPECT(error->text().find(right.environment_is_wrong ? "TOKAVG_" : "config.") != std::string::npos, "%s",
           error->what());
}

// The bytes of a caller: of any struct_size, which a tail may go with, and not one byte more.
struct Bytes {
  Bytes(Reader& in, const tokavg_config_t& config) {
    static constexpr std::uint32_t kSizes[] = {sizeof config + 8, kSize10<tokavg_config_t> - 8, 0, 300, 65537,
                                               UINT32_MAX};
    static constexpr std::uint32_t kLargest = 65536;  // slow to read
    size = sizeof config;
    if (in.one_in(4)) size = in.one_in(32) ? kLargest : in.pick_or_any(kSizes);
    // Beyond the largest that is read nothing is there; of less than what says so there is no struct.
    const std::size_t length = size > kLargest ? sizeof size : std::max<std::size_t>(size, sizeof size);
    data = std::make_unique<unsigned char[]>(length);
    std::memcpy(data.get(), &config, std::min(length, sizeof config));
    std::memcpy(data.get(), &size, sizeof size);
    if (length > sizeof config && in.coin()) {
      data[sizeof config + in.value<std::uint16_t>() % (length - sizeof config)] = in.byte();
    }
    for (std::size_t i = sizeof config; i < length; ++i) tail_is_set = tail_is_set || data[i] != 0;
  }
  std::uint32_t size = 0;
  std::unique_ptr<unsigned char[]> data;
  bool tail_is_set = false;
};

void check_description(tokavg_context_t* ctx) {
  std::int64_t needed = 0;
  EXPECT(tokavg_describe(ctx, nullptr, 0, &needed) == TOKAVG_OK, "tokavg_describe");
  std::string text(static_cast<std::size_t>(needed), 'x');
  EXPECT(tokavg_describe(ctx, text.data(), needed, nullptr) == TOKAVG_OK, "tokavg_describe");
  EXPECT(nlohmann::json::parse(text.c_str(), nullptr, false).is_object(), "not JSON: %s", text.c_str());
}

void open(Reader& in, tokavg_config_t config, const Environment& environment) {
  const Expected right = expected(config, environment);
  // A thousand threads would be made, which works and takes its time.
  if (right.config.host_threads > 3 && !right.config_is_wrong) return;
  // What this machine has is no concern of a fuzzer.
  if (right.config.device != TOKAVG_DEVICE_HOST) config.device = TOKAVG_DEVICE_HOST;
  const Bytes bytes(in, config);
  auto* const untouched = reinterpret_cast<tokavg_context_t*>(std::uintptr_t{1} << 40);
  tokavg_context_t* ctx = untouched;
  const tokavg_status_t status = tokavg_init(reinterpret_cast<const tokavg_config_t*>(bytes.data.get()), &ctx);
  EXPECT(status == TOKAVG_OK || (status < 0 && status > TOKAVG_ERR_INTERNAL), "tokavg_init: %d", status);
  if (status != TOKAVG_OK) {
    EXPECT(ctx == untouched, "ctx_out was written");
    char text[1024];
    EXPECT(tokavg_last_error(nullptr, text, sizeof text, nullptr) == TOKAVG_OK && std::strlen(text) > 10, "no text");
    return;
  }
  EXPECT(bytes.size >= kSize10<tokavg_config_t> && bytes.size <= 65536 && !bytes.tail_is_set, "struct_size %u",
         bytes.size);
  EXPECT(!right.environment_is_wrong, "a variable is wrong");
  if (in.one_in(8)) check_description(ctx);
  EXPECT(tokavg_free(ctx) == TOKAVG_OK, "tokavg_free");
}

void init_config(Reader& in) {
  static constexpr std::uint32_t kSizes[] = {
      sizeof(tokavg_config_t), sizeof(tokavg_config_t) - 1, sizeof(tokavg_config_t) + 1, 0, 65536, 65537};
  const std::uint32_t size = in.pick(kSizes);
  const std::size_t length = std::clamp<std::size_t>(size, sizeof size, 65536);
  const auto data = std::make_unique<unsigned char[]>(length);
  const tokavg_status_t status = tokavg_config_init(reinterpret_cast<tokavg_config_t*>(data.get()), size);
  const bool fits = size >= kSize10<tokavg_config_t> && size <= 65536;
  EXPECT(status == (fits ? TOKAVG_OK : TOKAVG_ERR_ARGUMENT), "size %u: %d", size, status);
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Reader in(data, size);
  const fuzz::Environment environment = fuzz::set_environment(in);
  const tokavg_config_t config = fuzz::make_config(in);
  fuzz::check_settings_of(config, environment);
  if (in.coin()) fuzz::open(in, config, environment);
  if (in.one_in(8)) fuzz::init_config(in);
  return 0;
}
