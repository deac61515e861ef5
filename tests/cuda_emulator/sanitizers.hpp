// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// The emulator's own files are not instrumented: for them the build defines it.
#if defined(CUDA_EMULATOR_TSAN)
#elif defined(__SANITIZE_THREAD__)
#define CUDA_EMULATOR_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CUDA_EMULATOR_TSAN 1
#endif
#endif

#if defined(__SANITIZE_ADDRESS__)
#define CUDA_EMULATOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUDA_EMULATOR_ASAN 1
#endif
#endif

#ifdef CUDA_EMULATOR_TSAN
#include <sanitizer/tsan_interface.h>
extern "C" {
void __tsan_read_range(void* begin, unsigned long size);
void __tsan_write_range(void* begin, unsigned long size);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
void AnnotateIgnoreSyncBegin(const char* file, int line);
void AnnotateIgnoreSyncEnd(const char* file, int line);
}
#endif

namespace cuda_emulator {

// What ThreadSanitizer is told: the order that CUDA promises, and nothing of the emulator's own locks. Two streams
// whose works happen to take the same lock are not ordered by that.
#ifdef CUDA_EMULATOR_TSAN
inline constexpr bool kThreadSanitizer = true;
inline thread_local int unseen_depth = 0;

// Inside, the sanitizer sees of this thread neither accesses (of memcpy and free, for the emulator's own code is not
// instrumented) nor locks. Blocking is allowed, switching fibers is not.
class Unseen {
 public:
  Unseen() {
    if (unseen_depth++ > 0) return;
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
  }
  ~Unseen() {
    if (--unseen_depth > 0) return;
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
};

// What a thread did before order_before(x) is ordered before what another one does after order_after(x). Also inside
// of Unseen.
inline void order_before(const void* what) {
  if (unseen_depth > 0) AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
  __tsan_release(const_cast<void*>(what));
  if (unseen_depth > 0) AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}

inline void order_after(const void* what) {
  if (unseen_depth > 0) AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
  __tsan_acquire(const_cast<void*>(what));
  if (unseen_depth > 0) AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}

// Accesses that the sanitizer is to see although what makes them is Unseen.
inline void note_read(const void* begin, std::size_t size) { __tsan_read_range(const_cast<void*>(begin), size); }
inline void note_write(void* begin, std::size_t size) { __tsan_write_range(begin, size); }
#else
inline constexpr bool kThreadSanitizer = false;
inline void note_read(const void*, std::size_t) {}
inline void note_write(void*, std::size_t) {}
inline void order_before(const void*) {}
inline void order_after(const void*) {}

class Unseen {
 public:
  Unseen() {}
  ~Unseen() {}
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
};
#endif

}  // namespace cuda_emulator
