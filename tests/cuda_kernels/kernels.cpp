// SPDX-License-Identifier: Apache-2.0
#include "cuda_kernels/kernels.h"

#include <cstdio>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/fixed_point.hpp"
#include "cuda_kernels/mirror.hpp"
#include "device/cuda/cross_entropy_plan.hpp"
#include "device/cuda/kernels.hpp"

namespace {

using namespace tokavg;
using cuda_kernels::Buffer;
using cuda_kernels::Mirror;
using cuda_kernels::must;

std::size_t size_of(std::int32_t dtype) {
  switch (dtype) {
    case TOKAVG_DTYPE_U8: return 1;
    case TOKAVG_DTYPE_BF16:
    case TOKAVG_DTYPE_F16: return 2;
    case TOKAVG_DTYPE_I64:
    case TOKAVG_DTYPE_F64: return 8;
    default: return 4;
  }
}

ArrayView view_of(const tokavg_array_t& array) { return {array.data, array.dtype, array.row_stride, array.col_stride}; }

LabelsView view_of(const tokavg_labels_t& labels, int64_t ignore_index, int weights_divide) {
  LabelsView view;
  view.rows = labels.rows;
  view.cols = labels.cols;
  view.shift = labels.shift;
  view.ignore_index = ignore_index;
  view.label_base = labels.label_base;
  view.weights_divide = weights_divide != 0;
  view.labels = view_of(labels.labels);
  view.mask = view_of(labels.mask);
  view.weights = view_of(labels.weights);
  return view;
}

bool cell_is_kept = false;
bool arrays_are_on_device = false;

// The arrays of one call and its cell.
class Call {
 public:
  Call() : stream_(make_stream()) {
    static Buffer buffer(sizeof(cuda::TermCell));
    static bool used = false;
    cell_ = &buffer;
    if (!cell_is_kept || !used) {
      const cuda::TermCell empty{};
      buffer.write(0, &empty, sizeof empty);
    }
    used = true;
  }
  ~Call() { must(cudaStreamDestroy(stream_), "cudaStreamDestroy"); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void add(const ArrayView& array, std::int64_t rows, std::int64_t cols, std::int64_t width = 1) {
    if (!arrays_are_on_device) mirror.add(array, rows, cols, width, size_of(array.dtype));
  }
  void add(const LabelsView& view) {
    for (const ArrayView& array : {view.labels, view.mask, view.weights}) add(array, view.rows, view.cols);
  }
  void map(LabelsView& view) const {
    for (ArrayView* array : {&view.labels, &view.mask, &view.weights}) mirror.map(*array);
  }

  cuda::Multiplier multiplier(const kernels_multiplier_t& from) {
    cuda::Multiplier to;
    to.scale = from.scale;
    if (from.has_factor != 0) {
      factor_.emplace(sizeof from.factor).write(0, &from.factor, sizeof from.factor);
      to.factor = reinterpret_cast<const double*>(factor_->get());
    }
    if (from.has_scale_device != 0) {
      scale_.emplace(sizeof from.scale_device).write(0, &from.scale_device, sizeof from.scale_device);
      to.scale_device = reinterpret_cast<const float*>(scale_->get());
    }
    return to;
  }

  [[nodiscard]] cuda::TermCell* cell() const { return reinterpret_cast<cuda::TermCell*>(cell_->get()); }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

  void finish(kernels_cell_t& result) {
    must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    if (!mirror.download()) fail(TOKAVG_ERR_INTERNAL, "something was written outside the arrays");
    cuda::TermCell cell;
    cell_->read(0, &cell, sizeof cell);
    result.tokens = cell.tokens;
    result.weighted = cell.weighted;
    result.bad_weights = cell.bad_weights;
    result.bad_labels = cell.bad_labels;
    result.loss_tokens = cell.loss_tokens;
    result.nonfinite = cell.nonfinite;
    result.weights = plain(cell.weights);
    result.losses = plain(cell.losses);
  }

  Mirror mirror;

 private:
  static cudaStream_t make_stream() {
    cudaStream_t stream = nullptr;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return stream;
  }
  static internal_sum_t plain(const cuda::Word (&limbs)[4]) {
    const FixedSum sum = from_limbs({limbs[0], limbs[1], limbs[2], limbs[3]});
    return {sum.units(), sum.value(), sum.too_large() ? 1 : 0};
  }

  cudaStream_t stream_;
  Buffer* cell_ = nullptr;
  std::optional<Buffer> factor_;
  std::optional<Buffer> scale_;
};

template <typename Body>
kernels_cell_t cell_of(Body body) noexcept {
  kernels_cell_t result{};
  try {
    Call call;
    body(call);
    call.finish(result);
  } catch (const Error& error) {
    result = {};
    result.status = error.status();
    std::snprintf(result.text, sizeof result.text, "%s", error.text().c_str());
  } catch (...) {
    result = {};
    result.status = TOKAVG_ERR_INTERNAL;
  }
  return result;
}

CrossEntropy cross_entropy_of(const tokavg_cross_entropy_t& from, int64_t ignore_index, int weights_divide) {
  CrossEntropy ce;
  ce.logits = view_of(from.logits);
  ce.vocab = from.vocab;
  ce.labels = view_of(*from.labels, ignore_index, weights_divide);
  ce.label_smoothing = from.label_smoothing;
  ce.z_loss = from.z_loss;
  ce.softcap = from.logit_softcap;
  ce.gradient = view_of(from.gradient_out);
  ce.losses = view_of(from.losses_out);
  ce.lse = view_of(from.lse_out);
  ce.argmax = view_of(from.argmax_out);
  return ce;
}

void launch(const CrossEntropy& ce, const cuda::Multiplier& scale, const Call& call, kernels_path_t path) {
  const cuda::RowsTask task = cuda::rows_task(ce, scale, call.cell());
  switch (path) {
    case KERNELS_CLUSTERS: return cuda::launch_cluster_rows(task, call.stream());
    case KERNELS_BLOCKS: return cuda::launch_block_rows(task, call.stream());
    default: return cuda::launch_cross_entropy(ce, scale, call.cell(), call.stream());
  }
}

}  // namespace

int kernels_can(kernels_path_t path, int64_t vocab, int32_t dtype) {
  CrossEntropy ce;
  ce.logits.dtype = dtype;
  ce.vocab = vocab;
  return path != KERNELS_CLUSTERS || cuda::cluster_can(cuda::rows_task(ce, {}, nullptr)) ? 1 : 0;
}

int kernels_is_emulated() {
#ifdef TOKAVG_CUDA_EMULATOR
  return 1;
#else
  return 0;
#endif
}

void kernels_keep_cell(int keep) { cell_is_kept = keep != 0; }

void kernels_use_device_arrays(int direct) { arrays_are_on_device = direct != 0; }

void* kernels_device_memory(int64_t size) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, static_cast<std::size_t>(size)) == cudaSuccess) return memory;
  static_cast<void>(cudaGetLastError());
  return nullptr;
}

void kernels_device_free(void* memory) { must(cudaFree(memory), "cudaFree"); }

void kernels_device_write(void* to, const void* from, int64_t size) {
  must(cudaMemcpy(to, from, static_cast<std::size_t>(size), cudaMemcpyHostToDevice), "cudaMemcpy");
}

void kernels_device_read(const void* from, void* to, int64_t size) {
  must(cudaMemcpy(to, from, static_cast<std::size_t>(size), cudaMemcpyDeviceToHost), "cudaMemcpy");
}

kernels_cell_t kernels_count(const tokavg_labels_t* labels, int64_t ignore_index, int weights_divide) {
  return cell_of([&](Call& call) {
    LabelsView view = view_of(*labels, ignore_index, weights_divide);
    call.add(view);
    call.mirror.upload();
    call.map(view);
    cuda::launch_count(view, call.cell(), call.stream());
  });
}

kernels_cell_t kernels_token_losses(const tokavg_array_t* losses, int64_t rows, int64_t cols,
                                    const tokavg_labels_t* labels, int64_t ignore_index, int weights_divide) {
  return cell_of([&](Call& call) {
    LabelsView view;
    TokenLosses task{rows, cols, view_of(*losses), labels != nullptr ? &view : nullptr};
    call.add(task.losses, rows, cols);
    if (labels != nullptr) call.add(view = view_of(*labels, ignore_index, weights_divide));
    call.mirror.upload();
    call.mirror.map(task.losses);
    call.map(view);
    cuda::launch_token_losses(task, call.cell(), call.stream());
  });
}

kernels_cell_t kernels_cross_entropy(const tokavg_cross_entropy_t* from, int64_t ignore_index, int weights_divide,
                                     const kernels_multiplier_t* gradient_scale, kernels_path_t path) {
  return cell_of([&](Call& call) {
    CrossEntropy ce = cross_entropy_of(*from, ignore_index, weights_divide);
    const std::int64_t rows = ce.labels.rows;
    const std::int64_t cols = ce.labels.cols;
    call.add(ce.labels);
    for (const ArrayView& array : {ce.logits, ce.gradient}) call.add(array, rows, cols, ce.vocab);
    for (const ArrayView& array : {ce.losses, ce.lse, ce.argmax}) call.add(array, rows, cols);
    call.mirror.upload();
    call.map(ce.labels);
    for (ArrayView* array : {&ce.logits, &ce.gradient, &ce.losses, &ce.lse, &ce.argmax}) call.mirror.map(*array);
    launch(ce, call.multiplier(*gradient_scale), call, path);
  });
}

kernels_cell_t kernels_scale(const tokavg_scale_item_t* items, int64_t n_items,
                             const kernels_multiplier_t* multiplier) {
  return cell_of([&](Call& call) {
    std::vector<cuda::ScaleArray> arrays;
    for (int64_t i = 0; i < n_items; ++i) {
      arrays.push_back({items[i].data, items[i].count, items[i].dtype});
      if (items[i].count > 0) call.add({items[i].data, items[i].dtype, 0, 0}, 1, 1, items[i].count);
    }
    call.mirror.upload();
    for (cuda::ScaleArray& array : arrays) array.data = call.mirror.on_device(array.data);
    cuda::launch_scale(arrays, call.multiplier(*multiplier), call.stream());
  });
}
