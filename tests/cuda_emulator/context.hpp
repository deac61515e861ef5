// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#if !defined(__x86_64__) || defined(CUDA_EMULATOR_UCONTEXT)
#include <ucontext.h>
#endif

namespace cuda_emulator {

// Something that a thread can be in: a fiber, or the thread's own stack.
struct Context {
#if defined(__x86_64__) && !defined(CUDA_EMULATOR_UCONTEXT)
  void* stack_pointer = nullptr;
#else
  ucontext_t registers;
#endif
  const void* stack_bottom = nullptr;  // for the sanitizers, as is what follows
  std::size_t stack_size = 0;
  void* fake_stack = nullptr;
  void* identity = nullptr;
};

// The context of the calling thread, which runs on its own stack.
Context thread_context();

// A context in which run_fiber() runs again and again on this stack.
void prepare_context(Context& context, char* stack_bottom, std::size_t stack_size);

// Which of the calling thread's identities ThreadSanitizer sees in the context. To it, each is a thread: two contexts
// with the same one do not race with each other. A thread has few of them, for one takes it almost a megabyte.
void set_identity(Context& context, std::size_t number);

// Goes on in `to`, and returns when something switches back. Orders nothing.
void switch_context(Context& from, Context& to);

// Runs the thread of a kernel that the calling OS thread has made current, and switches away at its end.
void run_fiber();

}  // namespace cuda_emulator
