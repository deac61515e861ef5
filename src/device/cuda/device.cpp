// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <vector>

#include "base/cuda/current.hpp"
#include "base/error.hpp"
#include "device/cuda/arena.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/open_cells.hpp"
#include "device/cuda/order.hpp"
#include "device/cuda/processor.hpp"
#include "device/cuda/resources.hpp"
#include "device/cuda/state.hpp"
#include "device/device.hpp"
#include "device/stream_device.hpp"

namespace tokavg::cuda {
namespace {

constexpr std::int32_t kCapturedSteps = 16;
constexpr int kLeastMajor = 8;  // of the compute capability

// The events of a context.
enum EventIndex : std::size_t {
  kOrder,           // the latest call
  kOrderInCapture,  // the same inside a capture
  kSideDone,        // the latest sum in stream order
  kEncoded,         // a message that is to be summed in stream order
  kEncodedInCapture,
  kForgotten,  // the place of a captured step has been emptied
  kSlotsDone,  // from here on one a slot: its sums are there
};

class CudaDevice final : public StreamDevice {
 public:
  CudaDevice(int device, const DeviceOptions& options)
      : layout_{options.terms, options.in_flight}, resources_(std::make_unique<Resources>(device)) {
    const OutsideCapture outside;
    Resources& r = *resources_;
    r.own_stream = std::make_unique<OwnStream>();
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(kSlotsDone) + slots(); ++i) r.events.emplace_back();
    const ArenaShape shape{layout_, slots(), eager_boxes() + kCapturedSteps};
    r.device_memory = std::make_unique<Memory>(Memory::Kind::kDevice, shape.device_bytes(), r.own_stream->get());
    r.mapped_memory = std::make_unique<Memory>(Memory::Kind::kMapped, shape.mapped_bytes(), r.own_stream->get());
    arena_.emplace(shape, *r.device_memory, *r.mapped_memory);
    order_.emplace(event(kOrder), event(kOrderInCapture));
  }

  ~CudaDevice() override {
    std::vector<cudaEvent_t> last_uses;
    if (order_->used()) last_uses.push_back(event(kOrder));
    if (side_used_) last_uses.push_back(event(kSideDone));
    free_when_unused(std::move(resources_), last_uses);
  }

  void agree(const StreamRule& rule) override { rule_ = rule; }
  void sum_with(EnqueueSums sum, void* user, Stream side) override {
    enqueue_ = sum;
    enqueue_user_ = user;
    side_ = to_cuda(side);
  }

  [[nodiscard]] bool owns(const void* pointer) const override {
    const cudaPointerAttributes attributes = attributes_of(pointer);
    return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  }
  void check_reach(const void* pointer) const override {
    const cudaPointerAttributes attributes = attributes_of(pointer);
    if (attributes.type == cudaMemoryTypeDevice || attributes.devicePointer != nullptr) return;
    if (attribute(cudaDevAttrPageableMemoryAccess, resources_->device) != 0) return;
    fail(TOKAVG_ERR_ARGUMENT,
         "is host memory that GPU %d does not reach; give it memory of cudaMalloc, or pinned memory (cudaHostAlloc)",
         resources_->device);
  }
  [[nodiscard]] bool capturing(Stream stream) override { return capture_of(stream).active; }
  void check_alive() override {
    const OutsideCapture outside;
    CurrentDevice current(resources_->device);
    const cudaError_t error = cudaStreamQuery(resources_->own_stream->get());
    if (error != cudaErrorNotReady) check(error, "cudaStreamQuery");
    current.restore();
  }

  void check_open(Stream stream) override { check_open(capture_of(stream)); }

  void count(const LabelsView& labels, std::int32_t term, bool begins_microbatch, Stream stream) override {
    enqueue(stream, [&](cudaStream_t s) {
      if (begins_microbatch) begin_microbatch();
      launch_count(labels, open_cell(term, s), s);
    });
  }
  // The cells of the microbatch are in one bank, which need not be known: the other has none for it.
  void begin_microbatch() override {
    for (OpenCells& cells : open_) cells.begin_microbatch();
  }
  void drop_microbatch() override {
    for (OpenCells& cells : open_) cells.drop_microbatch();
  }

  void token_losses(const TokenLosses& losses, std::int32_t term, std::int32_t slot, const StreamOutputs& out,
                    Stream stream) override {
    record(term, slot, out, out.backward != nullptr, stream,
           [&](TermCell* cell, const double* /*factor*/, cudaStream_t s) { launch_token_losses(losses, cell, s); });
  }

  void cross_entropy(const CrossEntropy& ce, std::int32_t term, std::int32_t slot, const StreamOutputs& out,
                     Stream stream) override {
    const bool needs_factor = out.backward != nullptr || ce.gradient;
    record(term, slot, out, needs_factor, stream, [&](TermCell* cell, const double* factor, cudaStream_t s) {
      launch_cross_entropy(ce, {factor, out.loss_scale, out.loss_scale_device}, cell, s);
    });
  }

  void value(const StreamValue& value, std::int32_t term, std::int32_t slot, const StreamOutputs& out,
             Stream stream) override {
    enqueue(stream, [&](cudaStream_t s) {
      ValueTask task;
      task.bank = bank();
      task.slot = slot == kOpenSlot ? nullptr : step(slot);
      if (slot != kOpenSlot && out.backward != nullptr) task.factor = awaited_factor(slot, term, s);
      task.target = slot == kOpenSlot ? open_cell(term, s) : &step(slot)->terms[term];
      task.kept = open_cells().kept();
      task.term = term;
      task.value = value;
      task.out = out;
      launch_value(task, s);
    });
  }

  void scale(std::span<const StreamScaleItem> items, std::int32_t term, std::int32_t slot, std::int32_t kind,
             double factor, const float* factor_device, Stream stream) override {
    std::vector<ScaleArray> arrays;
    arrays.reserve(items.size());
    for (const StreamScaleItem& item : items) arrays.push_back({item.array.data, item.count, item.array.dtype});
    enqueue(stream, [&](cudaStream_t s) {
      const double* f = awaited_factor(slot, term, s) + (kind - TOKAVG_FACTOR_SCALE);
      launch_scale(arrays, {f, factor, factor_device}, s);
    });
  }

  const float* factor(std::int32_t term, std::int32_t slot, std::int32_t kind, Stream stream) override {
    enqueue(stream, [&](cudaStream_t s) { await(slot, s); });
    return &step(slot)->rounded_factors[term][kind - TOKAVG_FACTOR_SCALE];
  }

  void send(const StreamMessage& message, Stream stream) override {
    const bool closes = message.roll.kind == MessageKind::kReduce;
    enqueue(stream, [&](cudaStream_t s) {
      if (closes && order_->capture().active) forget_earlier(message.slot, s);
      EncodeTask task;
      task.state = state();
      task.slots = step(0);
      task.box = device_box(message.box);
      task.control = device_control();
      task.layout = layout_;
      task.rule = rule_;
      task.message = message;
      task.bank = bank();
      task.used = closes ? open_cells().used() : 0;
      task.kept = closes ? open_cells().kept() : 0;
      task.host_sums = enqueue_ == nullptr;
      launch_encode(task, s);
      if (closes) {
        open_cells().close();
        Closed& closed = closed_[static_cast<std::size_t>(message.slot)];
        closed.box = message.box;
        closed.capture = order_->capture();
      }
      if (enqueue_ != nullptr) sum_in_stream_order(message, closes, s);
    });
  }

  [[nodiscard]] Stream own_stream() override { return resources_->own_stream->get(); }
  [[nodiscard]] std::int32_t eager_slots() const override { return static_cast<std::int32_t>(layout_.slots()); }
  [[nodiscard]] std::int32_t eager_boxes() const override { return eager_slots() + 2 * layout_.in_flight; }
  [[nodiscard]] std::int32_t captured_steps() const override { return kCapturedSteps; }

  [[nodiscard]] MessageBox box(std::int32_t index) override { return arena_->box_on_host(index); }
  [[nodiscard]] StreamControl& control() override { return arena_->control_on_host(); }

  [[nodiscard]] std::string describe() const override {
    int runtime = 0;
    int driver = 0;
    check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    const int device = resources_->device;
    return format(R"({"name":"cuda","device":%d,"compute_capability":"%d.%d","runtime":%d,"driver":%d})", device,
                  attribute(cudaDevAttrComputeCapabilityMajor, device),
                  attribute(cudaDevAttrComputeCapabilityMinor, device), runtime, driver);
  }

 private:
  // Where the message of a slot went.
  struct Closed {
    std::int32_t box = 0;
    Order::Capture capture;
  };

  static cudaStream_t to_cuda(Stream stream) { return static_cast<cudaStream_t>(stream); }
  [[nodiscard]] cudaEvent_t event(std::size_t index) const { return resources_->events[index].get(); }
  [[nodiscard]] cudaEvent_t slot_done(std::int32_t slot) const {
    return event(kSlotsDone + static_cast<std::size_t>(slot));
  }
  [[nodiscard]] std::int32_t slots() const { return eager_slots() + kCapturedSteps; }
  [[nodiscard]] StreamState* state() const { return arena_->state(); }
  // Of the call that is running.
  [[nodiscard]] std::size_t bank_number() const { return order_->capture().active ? 1 : 0; }
  [[nodiscard]] StreamState::Bank* bank() const { return &state()->banks[bank_number()]; }
  [[nodiscard]] OpenCells& open_cells() { return open_[bank_number()]; }
  [[nodiscard]] StepSlot* step(std::int32_t slot) const { return arena_->step(slot); }
  [[nodiscard]] StreamControl* device_control() const { return arena_->control(); }
  [[nodiscard]] Words device_box(std::int32_t index) const { return arena_->box(index, enqueue_ != nullptr); }

  // The device is current, for NULL is its default stream. Throws ARGUMENT where the stream cannot be used.
  [[nodiscard]] Order::Capture capture_in(cudaStream_t stream) const {
    const Order::Capture capture = Order::capture_of(stream);
    const int device = stream != nullptr ? Order::device_of(stream, resources_->device) : resources_->device;
    if (device != resources_->device) {
      fail(TOKAVG_ERR_ARGUMENT,
           "stream is one of GPU %d, but this context works on GPU %d (config.device_index); pass a stream that was "
           "made while GPU %d was current",
           device, resources_->device, resources_->device);
    }
    return capture;
  }

  [[nodiscard]] cudaPointerAttributes attributes_of(const void* pointer) const {
    cudaPointerAttributes attributes{};
    CurrentDevice current(resources_->device);  // for which a pointer is given, or none
    check(cudaPointerGetAttributes(&attributes, pointer), "cudaPointerGetAttributes");
    current.restore();
    if (attributes.type == cudaMemoryTypeDevice && attributes.device != resources_->device) {
      fail(
          TOKAVG_ERR_ARGUMENT,
          "is memory of GPU %d, but this context works on GPU %d (config.device_index); copy the array there, or use a "
          "context on GPU %d",
          attributes.device, resources_->device, attributes.device);
    }
    return attributes;
  }

  [[nodiscard]] Order::Capture capture_of(Stream stream) const {
    CurrentDevice current(resources_->device);
    const Order::Capture capture = capture_in(to_cuda(stream));
    current.restore();
    return capture;
  }

  template <typename Body>
  void enqueue(Stream stream, Body&& body) {
    CurrentDevice current(resources_->device);
    const cudaStream_t s = to_cuda(stream);
    const Order::Capture capture = capture_in(s);  // before anything is done
    try {
      order_->enter(s, capture);
      body(s);
      order_->leave(s);
    } catch (const Error& error) {
      // Half of it may be on the stream already, and cannot be tried again: that ends the context, as MEMORY does not.
      if (error.status() != TOKAVG_ERR_MEMORY) throw;
      fail(TOKAVG_ERR_DEVICE, "%s", error.text().c_str());
    }
    current.restore();
  }

  // A graph would take, with every replay, what was there once.
  void check_open(const Order::Capture& now) const {
    if ((open_[0].kept() == 0 && open_[1].kept() == 0) || now == opened_in_) return;
    fail(TOKAVG_ERR_STATE,
         "%s; count, and close the step with tokavg_reduce, either inside one capture or outside of any",
         now.active ? "the open step was begun before the capture of this stream, or in another one"
                    : "the open step was begun inside a capture, which closed it with no tokavg_reduce");
  }

  TermCell* open_cell(std::int32_t term, cudaStream_t stream) {
    check_open(order_->capture());
    opened_in_ = order_->capture();
    OpenCells& cells = open_cells();
    if (cells.full()) {
      launch_fold(bank(), cells.used(), cells.kept(), layout_.terms, stream);
      cells.folded();
    }
    return &bank()->cells[cells.current()][term];
  }

  // A call that adds losses: directly, or by way of the scratch cell when its own sum is wanted.
  template <typename Launch>
  void record(std::int32_t term, std::int32_t slot, const StreamOutputs& out, bool needs_factor, Stream stream,
              Launch&& launch) {
    enqueue(stream, [&](cudaStream_t s) {
      const double* factor = slot != kOpenSlot && needs_factor ? awaited_factor(slot, term, s) : nullptr;
      TermCell* target = slot == kOpenSlot ? open_cell(term, s) : &step(slot)->terms[term];
      if (out.sum == nullptr && out.backward == nullptr) return launch(target, factor, s);
      TermCell* scratch = &bank()->scratch;
      launch(scratch, factor, s);
      launch_give_back(scratch, target, factor, out, s);
    });
  }

  const double* awaited_factor(std::int32_t slot, std::int32_t term, cudaStream_t stream) {
    await(slot, stream);
    return step(slot)->factors[term];
  }

  [[nodiscard]] AwaitTask await_task(std::int32_t slot, std::int32_t box) const {
    AwaitTask task;
    task.slot = slot == kOpenSlot ? nullptr : step(slot);
    task.box = device_box(box);
    task.control = device_control();
    task.layout = layout_;
    task.rule = rule_;
    return task;
  }

  void await(std::int32_t slot, cudaStream_t stream) {
    const Closed& closed = closed_[static_cast<std::size_t>(slot)];
    const Order::Capture& now = order_->capture();
    if (now.active && closed.capture != now) {
      fail(TOKAVG_ERR_STATE,
           "the ticket was closed in another capture; in a capture use tickets that were closed in it");
    }
    if (closed.capture.active && !now.active) {
      check(cudaStreamWaitEvent(stream, event(kForgotten), 0), "cudaStreamWaitEvent");
    }
    if (enqueue_ == nullptr) return launch_await(await_task(slot, closed.box), stream);
    launch_ask(step(slot), device_control(), stream);
    // A step of a graph is complete when the graph is, which the caller's own order says.
    if (closed.capture.active && !now.active) return;
    check(cudaStreamWaitEvent(stream, slot_done(slot), 0), "cudaStreamWaitEvent");
  }

  // Until a replay has come the factors are NaN, not those of an older graph in the same place (which is at rest); what
  // no message has carried yet of that one's losses stays.
  void forget_earlier(std::int32_t slot, cudaStream_t stream) {
    const OutsideCapture outside;
    StepSlot* const earlier = step(slot);
    const cudaStream_t s = resources_->own_stream->get();
    check(cudaMemsetAsync(&earlier->message, 0, sizeof earlier->message, s), "cudaMemsetAsync");
    check(cudaMemsetAsync(&earlier->settled, 0, sizeof earlier->settled, s), "cudaMemsetAsync");
    check(cudaMemsetAsync(earlier->factors, 0xff, sizeof earlier->factors, s), "cudaMemsetAsync");
    check(cudaMemsetAsync(earlier->rounded_factors, 0xff, sizeof earlier->rounded_factors, s), "cudaMemsetAsync");
    check(cudaEventRecord(event(kForgotten), s), "cudaEventRecord");
    wait_external(stream, kForgotten);
  }

  // In a capture, for what is recorded outside of it: each replay waits for the latest record before its launch.
  void wait_external(cudaStream_t stream, EventIndex which) const {
    check(cudaStreamWaitEvent(stream, event(which), cudaEventWaitExternal), "cudaStreamWaitEvent");
  }

  // On a stream of its own, beside whatever the caller's stream goes on with.
  void sum_in_stream_order(const StreamMessage& message, bool closes, cudaStream_t stream) {
    const bool captured = order_->capture().active;
    const cudaStream_t side = side_;
    const cudaEvent_t encoded = event(captured ? kEncodedInCapture : kEncoded);
    check(cudaEventRecord(encoded, stream), "cudaEventRecord");
    check(cudaStreamWaitEvent(side, encoded, 0), "cudaStreamWaitEvent");
    // The caller's stream has not waited for the latest eager sum, and all ranks are to sum in one order.
    if (captured) wait_external(side, kSideDone);
    enqueue_(enqueue_user_, device_box(message.box).words, layout_.words(), side);
    launch_settle(await_task(closes ? message.slot : kOpenSlot, message.box), side);
    if (closes) check(cudaEventRecord(slot_done(message.slot), side), "cudaEventRecord");
    if (captured) return;
    check(cudaEventRecord(event(kSideDone), side), "cudaEventRecord");
    side_used_ = true;
  }

  const MessageLayout layout_;
  std::unique_ptr<Resources> resources_;
  std::optional<Arena> arena_;  // in its memory
  StreamRule rule_;
  EnqueueSums enqueue_ = nullptr;
  void* enqueue_user_ = nullptr;
  cudaStream_t side_ = nullptr;
  std::optional<Order> order_;
  OpenCells open_[kBanks];    // one of them holds the open step
  Order::Capture opened_in_;  // the open step's first work
  std::vector<Closed> closed_ = std::vector<Closed>(static_cast<std::size_t>(slots()));
  bool side_used_ = false;
};

std::unique_ptr<StreamDevice> make_cuda(const DeviceOptions& options) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0) {
    static_cast<void>(cudaGetLastError());
    fail(TOKAVG_ERR_DEVICE,
         "config.device is TOKAVG_DEVICE_CUDA, but no GPU can be used (cudaGetDeviceCount: %s); check the driver and "
         "CUDA_VISIBLE_DEVICES, or use TOKAVG_DEVICE_HOST",
         error != cudaSuccess ? cudaGetErrorString(error) : "no device");
  }
  int device = options.device_index;
  if (device < 0) check(cudaGetDevice(&device), "cudaGetDevice");
  if (device >= count) {
    fail(TOKAVG_ERR_CONFIG, "config.device_index is %d; there are %d devices, 0 to %d", device, count, count - 1);
  }
  const int major = attribute(cudaDevAttrComputeCapabilityMajor, device);
  if (major < kLeastMajor) {
    fail(TOKAVG_ERR_UNSUPPORTED,
         "config.device_index: device %d has compute capability %d.%d; %d.0 is the least; use another device, or "
         "TOKAVG_DEVICE_HOST",
         device, major, attribute(cudaDevAttrComputeCapabilityMinor, device), kLeastMajor);
  }
  CurrentDevice current(device);
  auto made = std::make_unique<CudaDevice>(device, options);
  current.restore();
  return made;
}

// A device_index that means no device is left for make_cuda to refuse.
bool is_usable(const DeviceOptions& options) noexcept {
  int count = 0;
  int device = options.device_index;
  bool usable = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  if (usable && device < 0) usable = cudaGetDevice(&device) == cudaSuccess;
  if (usable && device < count) {
    int major = 0;
    usable = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
             major >= kLeastMajor;
  }
  if (!usable) static_cast<void>(cudaGetLastError());
  return usable;
}

std::string describe_factory() {
  int count = 0;
  int runtime = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  static_cast<void>(cudaGetLastError());
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  return format(R"({"name":"cuda","devices":%d,"runtime":%d})", count, runtime);
}

}  // namespace

extern const DeviceFactory kFactory;
const DeviceFactory kFactory{"cuda", TOKAVG_DEVICE_CUDA, nullptr, make_cuda, is_usable, describe_factory};

}  // namespace tokavg::cuda
