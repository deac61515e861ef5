// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/context.hpp"

#include <pthread.h>

#include <cstring>

#include "cuda_emulator/sanitizers.hpp"

#ifdef CUDA_EMULATOR_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace cuda_emulator {
namespace {

void fiber_main() {
#ifdef CUDA_EMULATOR_ASAN
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
  for (;;) run_fiber();
}

}  // namespace

#if defined(__x86_64__) && !defined(CUDA_EMULATOR_UCONTEXT)

// swapcontext() makes a system call each time; this saves what the ABI wants kept and nothing else.
extern "C" void cuda_emulator_swap(void** from, void* to);
asm(R"(
    .text
    .p2align 4
    .hidden cuda_emulator_swap
    .globl cuda_emulator_swap
    .type cuda_emulator_swap, @function
cuda_emulator_swap:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size cuda_emulator_swap, .-cuda_emulator_swap
)");

namespace {

void swap(Context& from, Context& to) { cuda_emulator_swap(&from.stack_pointer, to.stack_pointer); }

// What the swap pops: six registers, where to go, and no way back from there.
void prepare(Context& context) {
  void* frame[8] = {};
  frame[6] = reinterpret_cast<void*>(&fiber_main);
  char* top = const_cast<char*>(static_cast<const char*>(context.stack_bottom)) + context.stack_size;
  context.stack_pointer = top - sizeof frame;
  std::memcpy(context.stack_pointer, frame, sizeof frame);
}

}  // namespace

#else

namespace {

void swap(Context& from, Context& to) { swapcontext(&from.registers, &to.registers); }

void prepare(Context& context) {
  getcontext(&context.registers);
  context.registers.uc_stack.ss_sp = const_cast<void*>(context.stack_bottom);
  context.registers.uc_stack.ss_size = context.stack_size;
  context.registers.uc_link = nullptr;
  makecontext(&context.registers, fiber_main, 0);
}

}  // namespace

#endif

Context thread_context() {
  Context context;
#ifdef CUDA_EMULATOR_ASAN
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* bottom = nullptr;
  pthread_attr_getstack(&attributes, &bottom, &context.stack_size);
  pthread_attr_destroy(&attributes);
  context.stack_bottom = bottom;
#endif
#ifdef CUDA_EMULATOR_TSAN
  context.identity = __tsan_get_current_fiber();
#endif
  return context;
}

void prepare_context(Context& context, char* stack_bottom, std::size_t stack_size) {
  context.stack_bottom = stack_bottom;
  context.stack_size = stack_size;
  prepare(context);
}

#ifdef CUDA_EMULATOR_TSAN
namespace {

constexpr std::size_t kIdentities = 64;

struct Identities {
  Identities() {
    for (void*& one : all) one = __tsan_create_fiber(0);
  }
  ~Identities() {
    for (void* one : all) __tsan_destroy_fiber(one);
  }
  void* all[kIdentities];
};

}  // namespace

void set_identity(Context& context, std::size_t number) {
  thread_local const Identities identities;
  context.identity = identities.all[number % kIdentities];
}
#else
void set_identity(Context&, std::size_t) {}
#endif

void switch_context(Context& from, Context& to) {
#ifdef CUDA_EMULATOR_ASAN
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_size);
#endif
#ifdef CUDA_EMULATOR_TSAN
  __tsan_switch_to_fiber(to.identity, __tsan_switch_to_fiber_no_sync);
#endif
  swap(from, to);
#ifdef CUDA_EMULATOR_ASAN
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

}  // namespace cuda_emulator
