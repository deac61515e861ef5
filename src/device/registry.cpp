// SPDX-License-Identifier: Apache-2.0
#include "device/device.hpp"

namespace tokavg {

const DeviceFactory* find_device(std::int32_t kind) noexcept {
  for (const DeviceFactory* factory : device_factories()) {
    if (factory->kind == kind && factory->describe != nullptr) return factory;
  }
  return nullptr;
}

std::string device_names() {
  std::string names;
  for (const DeviceFactory* factory : device_factories()) {
    if (factory->describe != nullptr) names += (names.empty() ? "" : ",") + std::string(factory->name);
  }
  return names;
}

}  // namespace tokavg
