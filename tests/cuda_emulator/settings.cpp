// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/settings.hpp"

#include <cstdlib>

#include "cuda_emulator/random.hpp"
#include "cuda_emulator/report.hpp"

namespace cuda_emulator {
namespace {

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (*end != '\0') report("%s=%s is not a number", name, text);
  return value;
}

// "8.0" -> 80
int capability_from(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const long major = std::strtol(text, &end, 10);
  const long minor = *end == '.' ? std::strtol(end + 1, &end, 10) : 0;
  if (*end != '\0' || major < 1 || major > 99 || minor < 0 || minor > 9) report("%s=%s is not like 8.0", name, text);
  return static_cast<int>(10 * major + minor);
}

}  // namespace

Settings& settings() {
  static Settings only{number_from("CUDA_EMULATOR_SEED", 1), static_cast<int>(number_from("CUDA_EMULATOR_DEVICES", 4)),
                       capability_from("CUDA_EMULATOR_CAPABILITY", 90),
                       static_cast<unsigned>(number_from("CUDA_EMULATOR_PAUSE", 200)), true};
  return only;
}

namespace {
std::atomic<std::uint64_t> uses{0};
}

void reseed(std::uint64_t seed) {
  settings().seed = seed;
  uses = 0;
}

std::uint64_t next_seed() { return Random(settings().seed.load() * 0x9e3779b97f4a7c15U + uses.fetch_add(1)).next(); }

}  // namespace cuda_emulator
