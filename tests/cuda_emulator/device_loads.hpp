// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>

// Loads and stores with a cache hint. The hints mean nothing here; a misaligned address faults, as on a GPU.
namespace cuda_emulator {

[[noreturn]] void report_misaligned(const void* address, std::size_t size);

template <typename Value>
Value* aligned(Value* address) {
  if (reinterpret_cast<std::uintptr_t>(address) % sizeof(Value) != 0) report_misaligned(address, sizeof(Value));
  return address;
}

}  // namespace cuda_emulator

template <typename Value>
Value __ldg(const Value* address) {
  return *cuda_emulator::aligned(address);
}

template <typename Value>
Value __ldca(const Value* address) {
  return *cuda_emulator::aligned(address);
}

template <typename Value>
Value __ldcg(const Value* address) {
  return *cuda_emulator::aligned(address);
}

template <typename Value>
Value __ldcs(const Value* address) {
  return *cuda_emulator::aligned(address);
}

template <typename Value>
void __stwb(Value* address, Value value) {
  *cuda_emulator::aligned(address) = value;
}

template <typename Value>
void __stcg(Value* address, Value value) {
  *cuda_emulator::aligned(address) = value;
}

template <typename Value>
void __stcs(Value* address, Value value) {
  *cuda_emulator::aligned(address) = value;
}

template <typename Value>
void __stwt(Value* address, Value value) {
  *cuda_emulator::aligned(address) = value;
}
