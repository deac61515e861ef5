// SPDX-License-Identifier: Apache-2.0
#include "device/device.hpp"

#include "base/error.hpp"
#include "device/host/array.hpp"
#include "device/host/kernels.hpp"
#include "device/host/values.hpp"

namespace tokavg::host {
namespace {

std::string describe_host() { return R"({"name":"host","kernels":"reference","threads":1})"; }

// The host's memory. It has no state: every call is done when it returns. DeviceOptions.host_threads is accepted, and
// one thread is used; the numbers do not depend on it.
class HostDevice final : public Device {
 public:
  Counted count(const LabelsView& labels) override { return host::count(labels); }
  Recorded token_losses(const TokenLosses& losses) override { return host::token_losses(losses); }
  Recorded cross_entropy(const CrossEntropy& ce) override { return host::cross_entropy(ce); }
  double read(const ArrayView& value) override { return reals(value)(0, 0); }
  void scale(const ArrayView& array, std::int64_t count, double factor) override { host::scale(array, count, factor); }
  void write(void* out, std::int32_t dtype, double value) override { store({&value, 1}, dtype, out); }
  std::string describe() const override { return describe_host(); }
};

std::unique_ptr<Device> make_host(const DeviceOptions& /*options*/) { return std::make_unique<HostDevice>(); }

}  // namespace

extern const DeviceFactory kFactory;
const DeviceFactory kFactory{"host", TOKAVG_DEVICE_HOST, make_host, describe_host};

}  // namespace tokavg::host
