// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

// Atomics are relaxed, as in CUDA, until the thread's first fence; from then on they order memory, for that is how
// `write; __threadfence(); atomicAdd(ready)` and its reader look. So a sanitizer sees the fences that a kernel has.
namespace cuda_emulator {

void fence();
bool fenced();
void maybe_switch();  // now and then lets other threads of the block run

template <typename Value, typename Next>
Value atomic_update(Value* address, Next next) {
  maybe_switch();
  const bool ordered = fenced();
  Value old;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  for (;;) {
    Value wanted = next(old);
    const bool done =
        ordered ? __atomic_compare_exchange(address, &old, &wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
                : __atomic_compare_exchange(address, &old, &wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (done) return old;
  }
}

template <typename Value>
inline constexpr bool kIsAtomicInteger =
    std::is_same_v<Value, int> || std::is_same_v<Value, unsigned> || std::is_same_v<Value, unsigned long long>;

}  // namespace cuda_emulator

inline void __threadfence() { cuda_emulator::fence(); }
inline void __threadfence_block() { cuda_emulator::fence(); }
inline void __threadfence_system() { cuda_emulator::fence(); }

template <typename Value>
Value atomicAdd(Value* address, std::type_identity_t<Value> value) {
  static_assert(cuda_emulator::kIsAtomicInteger<Value> || std::is_floating_point_v<Value>);
  return cuda_emulator::atomic_update(address, [value](Value old) {
    if constexpr (std::is_same_v<Value, int>) {
      return static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(value));  // wraps, as in CUDA
    } else {
      return static_cast<Value>(old + value);
    }
  });
}

template <typename Value>
Value atomicMax(Value* address, std::type_identity_t<Value> value) {
  static_assert(cuda_emulator::kIsAtomicInteger<Value> || std::is_same_v<Value, long long>);
  return cuda_emulator::atomic_update(address, [value](Value old) { return old < value ? value : old; });
}

template <typename Value>
Value atomicMin(Value* address, std::type_identity_t<Value> value) {
  static_assert(cuda_emulator::kIsAtomicInteger<Value> || std::is_same_v<Value, long long>);
  return cuda_emulator::atomic_update(address, [value](Value old) { return value < old ? value : old; });
}

template <typename Value>
Value atomicOr(Value* address, std::type_identity_t<Value> value) {
  static_assert(cuda_emulator::kIsAtomicInteger<Value>);
  return cuda_emulator::atomic_update(address, [value](Value old) { return static_cast<Value>(old | value); });
}

template <typename Value>
Value atomicAnd(Value* address, std::type_identity_t<Value> value) {
  static_assert(cuda_emulator::kIsAtomicInteger<Value>);
  return cuda_emulator::atomic_update(address, [value](Value old) { return static_cast<Value>(old & value); });
}

template <typename Value>
Value atomicExch(Value* address, std::type_identity_t<Value> value) {
  static_assert(cuda_emulator::kIsAtomicInteger<Value> || std::is_same_v<Value, float>);
  return cuda_emulator::atomic_update(address, [value](Value) { return value; });
}

template <typename Value>
Value atomicCAS(Value* address, std::type_identity_t<Value> expected, std::type_identity_t<Value> value) {
  static_assert(cuda_emulator::kIsAtomicInteger<Value>);
  return cuda_emulator::atomic_update(address, [expected, value](Value old) { return old == expected ? value : old; });
}
