// SPDX-License-Identifier: Apache-2.0
#include "device/device.hpp"

#include "base/error.hpp"
#include "device/host/array.hpp"
#include "device/host/kernels.hpp"
#include "device/host/values.hpp"
#include "device/stream_device.hpp"

namespace tokavg::host {
namespace {

std::string describe_host(const char* kernels, std::size_t threads) {
  return format(R"({"name":"host","kernels":"%s","threads":%zu})", kernels, threads);
}

// The host's memory: every call is done when it returns.
class HostDevice final : public Device {
 public:
  explicit HostDevice(const DeviceOptions& options)
      : simd_(choose_simd(options.simd)), workers_(options.host_threads) {}

  Counted count(const LabelsView& labels) override { return host::count(labels, simd_); }
  Recorded token_losses(const TokenLosses& losses) override { return host::token_losses(losses, simd_); }
  Recorded cross_entropy(const CrossEntropy& ce) override {
    if (ce.labels.rows == 0 || ce.labels.cols == 0) return {};  // then there may be no logits either
    return host::cross_entropy(ce, row_kernels(simd_, ce), workers_, scratch_);
  }
  double read(const ArrayView& value) override { return reals(value)(0, 0); }
  void scale(const ArrayView& array, std::int64_t count, double factor) override {
    host::scale(array, count, factor, simd_, workers_);
  }
  void write(void* out, std::int32_t dtype, double value) override { store({&value, 1}, dtype, out); }
  std::string describe() const override { return describe_host(simd_.name, workers_.count()); }

 private:
  const SimdKernels& simd_;
  Workers workers_;
  RowScratch scratch_;
};

std::unique_ptr<Device> make_host(const DeviceOptions& options) { return std::make_unique<HostDevice>(options); }

std::string describe_factory() { return describe_host(choose_simd("auto").name, 1); }

}  // namespace

extern const DeviceFactory kFactory;
const DeviceFactory kFactory{
    "host",          TOKAVG_DEVICE_HOST, make_host, nullptr, [](const DeviceOptions&) noexcept { return true; },
    describe_factory};

}  // namespace tokavg::host
