// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "kernels/calls.hpp"
#include "kernels/groups.hpp"

namespace tokavg_bench {
namespace {

struct Size {
  const char* name;
  std::size_t bytes;
};
// What the second-level cache, the third-level cache and no cache hold, on most processors.
constexpr Size kSizes[] = {
    {"512KiB", std::size_t{512} << 10}, {"8MiB", std::size_t{8} << 20}, {"256MiB", std::size_t{256} << 20}};

// All sizes and both types look at the begin of the same bytes: 64-bit labels are as good as twice as many of 32 bits,
// for the time does not depend on what they are.
class Labels {
 public:
  const Buffer& buffer() {
    if (buffer_.bytes() == 0) {
      buffer_ = Buffer(kSizes[2].bytes);
      fill_labels(buffer_, 32000);
    }
    return buffer_;
  }

 private:
  Buffer buffer_;
};

template <class Label>
void time_count(benchmark::State& state, const Buffer& buffer, std::size_t bytes) {
  const Context context;
  const auto n = static_cast<std::int64_t>(bytes / sizeof(Label));
  const tokavg_labels_t labels = labels_of(buffer.as<Label>(), 1, n);
  for (auto _ : state) {
    context.count(labels);
  }
  set_size(state, bytes, n);
}

template <class Label>
void add_type(const Plan& plan, const std::string& type, const std::shared_ptr<Labels>& labels) {
  for (const Size& size : kSizes) {
    const std::size_t bytes = size.bytes;
    const Body count = [labels, bytes](benchmark::State& state) { time_count<Label>(state, labels->buffer(), bytes); };
    add({"count", "count", type, size.name}, count);
    // Both halves of the A/A pair are the same function: how far apart they are is noise.
    if (type == "i64") {
      add({"count", "count_again", type, size.name}, count);
    }
    for (const auto& [name, read] :
         {std::pair{"read", plan.yardsticks->read}, {"read_streams", plan.yardsticks->read_streams}}) {
      add({"count", name, type, size.name}, [labels, bytes, read = read](benchmark::State& state) {
        const Buffer& buffer = labels->buffer();
        for (auto _ : state) {
          benchmark::DoNotOptimize(read(buffer.data(), bytes));
        }
        set_size(state, bytes, static_cast<std::int64_t>(bytes / sizeof(Label)));
      });
    }
  }
}

}  // namespace

void add_count(const Plan& plan) {
  const auto labels = std::make_shared<Labels>();
  add_type<std::int32_t>(plan, "i32", labels);
  add_type<std::int64_t>(plan, "i64", labels);
}

}  // namespace tokavg_bench
