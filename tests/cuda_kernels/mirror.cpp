// SPDX-License-Identifier: Apache-2.0
#include "cuda_kernels/mirror.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace cuda_kernels {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kMargin = 256;  // before and behind a stretch
constexpr unsigned char kFiller = 0xff;

}  // namespace

void must(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
  std::abort();
}

Buffer::Buffer(std::size_t size) { must(cudaMalloc(&data_, size), "cudaMalloc"); }
Buffer::~Buffer() { must(cudaFree(data_), "cudaFree"); }

void Buffer::write(std::size_t at, const void* from, std::size_t size) const {
  must(cudaMemcpy(get() + at, from, size, cudaMemcpyHostToDevice), "cudaMemcpy");
}

void Buffer::read(std::size_t at, void* to, std::size_t size) const {
  must(cudaMemcpy(to, get() + at, size, cudaMemcpyDeviceToHost), "cudaMemcpy");
}

void Mirror::add(const tokavg::ArrayView& array, std::int64_t rows, std::int64_t cols, std::int64_t width,
                 std::size_t element_size) {
  if (array.data == nullptr || rows == 0 || cols == 0) return;
  const std::int64_t corners[] = {(rows - 1) * array.row_stride, (cols - 1) * array.col_stride};
  const std::int64_t lowest = std::min<std::int64_t>(corners[0], 0) + std::min<std::int64_t>(corners[1], 0);
  const std::int64_t highest = std::max<std::int64_t>(corners[0], 0) + std::max<std::int64_t>(corners[1], 0) + width;
  const auto size = static_cast<std::int64_t>(element_size);
  unsigned char* begin = static_cast<unsigned char*>(array.data) + lowest * size;
  unsigned char* end = static_cast<unsigned char*>(array.data) + highest * size;
  auto next = stretches_.lower_bound(begin);
  if (next != stretches_.begin() && std::prev(next)->second.end > begin) --next;
  while (next != stretches_.end() && next->first < end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->second.end);
    next = stretches_.erase(next);
  }
  stretches_[begin].end = end;
}

void Mirror::upload() {
  for (auto& [begin, stretch] : stretches_) {
    const auto size = static_cast<std::size_t>(stretch.end - begin);
    stretch.first = kMargin + reinterpret_cast<std::uintptr_t>(begin) % kAlignment;
    std::vector<unsigned char> all(stretch.first + size + kMargin, kFiller);
    std::copy(begin, stretch.end, all.begin() + static_cast<std::ptrdiff_t>(stretch.first));
    stretch.buffer = std::make_unique<Buffer>(all.size());
    stretch.buffer->write(0, all.data(), all.size());
  }
}

void* Mirror::on_device(void* host) const {
  auto* at = static_cast<unsigned char*>(host);
  auto found = stretches_.upper_bound(at);
  if (found == stretches_.begin()) return host;  // an array without elements
  --found;
  if (at >= found->second.end) return host;
  return found->second.buffer->get() + found->second.first + (at - found->first);
}

bool Mirror::download() {
  bool clean = true;
  for (auto& [begin, stretch] : stretches_) {
    const auto size = static_cast<std::size_t>(stretch.end - begin);
    std::vector<unsigned char> all(stretch.first + size + kMargin);
    stretch.buffer->read(0, all.data(), all.size());
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(stretch.first);
    const auto last = first + static_cast<std::ptrdiff_t>(size);
    const auto is_filler = [](unsigned char byte) { return byte == kFiller; };
    clean = clean && std::all_of(all.begin(), first, is_filler) && std::all_of(last, all.end(), is_filler);
    std::copy(first, last, begin);
  }
  return clean;
}

}  // namespace cuda_kernels
