// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cstring>
#include <new>

#include "peer.hpp"

namespace tokavg::peers {

Buffer::Buffer(std::size_t bytes)
    : data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), bytes_(bytes) {
  if (data_ == MAP_FAILED) throw std::bad_alloc();
  (void)madvise(data_, bytes_, MADV_HUGEPAGE);
  std::memset(data_, 0, bytes_);
}

Buffer::~Buffer() { (void)munmap(data_, bytes_); }

}  // namespace tokavg::peers
