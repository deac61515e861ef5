// SPDX-License-Identifier: Apache-2.0
// What stands in the list of devices for those that a build lacks: says which option builds them.
#include "base/error.hpp"
#include "device/device.hpp"
#include "device/stream_device.hpp"

namespace tokavg::not_built {
namespace {

std::unique_ptr<StreamDevice> refuse_cuda(const DeviceOptions& /*options*/) {
  fail(TOKAVG_ERR_NOT_BUILT,
       "config.device is TOKAVG_DEVICE_CUDA, but this libtokavg was built without CUDA (it has: %s); build it with "
       "-DTOKAVG_CUDA=ON, or use TOKAVG_DEVICE_HOST",
       device_names().c_str());
}

}  // namespace

extern const DeviceFactory kCuda;
const DeviceFactory kCuda{
    "cuda", TOKAVG_DEVICE_CUDA, nullptr, refuse_cuda, [](const DeviceOptions&) noexcept { return false; }, nullptr};

}  // namespace tokavg::not_built
