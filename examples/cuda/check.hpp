// SPDX-License-Identifier: Apache-2.0
// How the examples look at what calls return.
#ifndef EXAMPLES_CUDA_CHECK_HPP
#define EXAMPLES_CUDA_CHECK_HPP

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include <tokavg/tokavg.h>

inline void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
  std::exit(1);
}

inline void check(tokavg_context_t* context, tokavg_status_t status, const char* call) {
  if (status >= 0) return;
  char text[1024];
  tokavg_last_error(context, text, sizeof text, nullptr);
  std::fprintf(stderr, "%s: %s: %s\n", call, tokavg_status_name(status), text);
  std::exit(1);
}

#define CHECK_CUDA(call) check(call, #call)
#define CHECK_TOKAVG(context, call) check(context, call, #call)

#endif
