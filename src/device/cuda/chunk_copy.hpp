// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "device/cuda/elements.hpp"

// A stretch of global memory on its way to shared memory, in pieces that can be used one after the other.
namespace tokavg::cuda {

inline constexpr int kPieces = 4;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

struct Arrival {
  std::uint64_t barrier;

  __device__ void init() {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
  }
  __device__ void wait(std::uint32_t parity) const {
    const std::uint32_t address = shared_address(&barrier);
    std::uint32_t arrived = 0;
    while (arrived == 0) {
      asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                   : "=r"(arrived)
                   : "r"(address), "r"(parity)
                   : "memory");
    }
  }
};

__device__ inline void publish_arrivals() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// By one thread. All addresses and the size are multiples of 16.
__device__ inline void copy_piece(const unsigned char* from, std::uint32_t bytes, unsigned char* to, Arrival& arrival) {
  const std::uint32_t barrier = shared_address(&arrival.barrier);
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
  if (bytes == 0) return;
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
               : "memory");
}

// What was read and written until now comes before the copies that this thread starts.
__device__ inline void order_before_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

inline constexpr bool kBulkCopies = true;

#else

struct Arrival {
  std::uint64_t barrier;  // not used; the host computes sizes

  __device__ void init() {}
  __device__ void wait(std::uint32_t /*parity*/) const {}
};
__device__ inline void publish_arrivals() {}
__device__ inline void order_before_copies() {}
__device__ inline void copy_piece(const unsigned char* /*from*/, std::uint32_t /*bytes*/, unsigned char* /*to*/,
                                  Arrival& /*arrival*/) {}
inline constexpr bool kBulkCopies = false;

#endif

class ChunkCopy {
 public:
  struct Arrivals {
    Arrival of_piece[kPieces];
  };

  // Both in shared memory; `window` is aligned to 16 bytes and has room for 16 more than are copied.
  __device__ ChunkCopy(Arrivals& arrivals, unsigned char* window) : arrivals_(arrivals), window_(window) {}

  // By one thread, once; a barrier comes after it.
  __device__ void init() {
    for (Arrival& arrival : arrivals_.of_piece) arrival.init();
    publish_arrivals();
  }

  // By all threads, which have done with the last copy. Returns where the first byte will be: as far from a multiple of
  // 16 as in global memory. Not a byte outside is read.
  __device__ const unsigned char* start(const unsigned char* from, int bytes) {
    const auto misfit = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % sizeof(Packet));
    unsigned char* to = window_ + misfit;
    const int to_packet = (kPacket - misfit) % kPacket;
    head_ = bytes < to_packet ? bytes : to_packet;
    const int body = (bytes - head_) / kPacket * kPacket;
    const int tail = bytes - head_ - body;
    bytes_ = bytes;
    piece_ = (body / kPieces + kPacket - 1) / kPacket * kPacket;
    if (kBulkCopies && threadIdx.x == 0) start_body(from + head_, body, to + head_);
    const int thread = static_cast<int>(threadIdx.x) - kPacket;  // not the one that starts the copies
    if (!kBulkCopies) copy_body(from + head_, body, to + head_);
    if (thread >= 0 && thread < head_) to[thread] = from[thread];
    if (thread >= 0 && thread < tail) to[head_ + body + thread] = from[head_ + body + thread];
    if (!kBulkCopies || head_ + tail != 0) __syncthreads();
    parity_ ^= 1U;
    return to;
  }

  // Then so many bytes, from the first one on, are there: all of them after the last piece.
  __device__ int wait(int piece) const {
    arrivals_.of_piece[piece].wait(parity_);
    const int until = head_ + (piece + 1) * piece_;
    return piece + 1 == kPieces || until > bytes_ ? bytes_ : until;
  }

 private:
  static constexpr int kPacket = static_cast<int>(sizeof(Packet));

  __device__ void start_body(const unsigned char* from, int bytes, unsigned char* to) {
    order_before_copies();
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const int begin = piece * piece_ < bytes ? piece * piece_ : bytes;
      const int end = piece + 1 < kPieces && begin + piece_ < bytes ? begin + piece_ : bytes;
      copy_piece(from + begin, static_cast<std::uint32_t>(end - begin), to + begin, arrivals_.of_piece[piece]);
    }
  }

  __device__ void copy_body(const unsigned char* from, int bytes, unsigned char* to) const {
    for (int i = static_cast<int>(threadIdx.x) * kPacket; i < bytes; i += static_cast<int>(blockDim.x) * kPacket) {
      *reinterpret_cast<Packet*>(to + i) = load_packet(from + i);
    }
  }

  Arrivals& arrivals_;
  unsigned char* window_;
  std::uint32_t parity_ = 1;  // of the copy that was started last
  int head_ = 0;
  int bytes_ = 0;
  int piece_ = 0;
};

}  // namespace tokavg::cuda
