// SPDX-License-Identifier: Apache-2.0
// choice host|cuda: what TOKAVG_DEVICE_AUTO chooses, where the GPUs are too old or just new enough. Needs the emulator,
// whose GPUs are what CUDA_EMULATOR_CAPABILITY says.
#include <cstring>

#include "contract/team.hpp"
#include "cuda/checks.hpp"

using cuda_test::Checks;

namespace {

struct Made {
  tokavg_status_t status = TOKAVG_OK;
  std::string text;  // the error, or what the context says of itself
};

Made make(std::int32_t device, std::int32_t device_index) {
  tokavg_config_t config;
  tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
  config.comm_kind = TOKAVG_COMM_SELF;
  config.gradient_reduction = TOKAVG_GRADIENT_SUM;
  config.device = device;
  config.device_index = device_index;
  tokavg_context_t* context = nullptr;
  Made made;
  made.status = tokavg_init(&config, &context);
  if (made.status != TOKAVG_OK) {
    made.text = contract::last_error(nullptr);
    return made;
  }
  char text[8192] = "";
  tokavg_describe(context, text, sizeof text, nullptr);
  made.text = text;
  tokavg_free(context);
  return made;
}

bool works_on_gpu(const Made& made) { return made.text.find("compute_capability") != std::string::npos; }

}  // namespace

int main(int argc, char** argv) {
  const bool new_enough = argc > 1 && std::strcmp(argv[1], "cuda") == 0;
  Checks checks;
  for (const std::int32_t index : {-1, 0, 1}) {
    const std::string which = ", device_index " + std::to_string(index) + ": ";
    const Made chosen = make(TOKAVG_DEVICE_AUTO, index);
    checks.expect(chosen.status == TOKAVG_OK, "AUTO" + which + chosen.text);
    checks.expect(works_on_gpu(chosen) == new_enough, "AUTO" + which + chosen.text);
    const Made wanted = make(TOKAVG_DEVICE_CUDA, index);
    if (new_enough) {
      checks.expect(wanted.status == TOKAVG_OK && works_on_gpu(wanted), "CUDA" + which + wanted.text);
    } else {
      const bool says_why = wanted.text.find("compute capability 7.5") != std::string::npos;
      checks.expect(wanted.status == TOKAVG_ERR_UNSUPPORTED && says_why, "CUDA" + which + wanted.text);
    }
  }
  const Made none = make(TOKAVG_DEVICE_AUTO, 99);
  checks.expect(none.status == TOKAVG_ERR_CONFIG, "AUTO with a device_index that means no device: " + none.text);
  return checks.end("choice");
}
