/* SPDX-License-Identifier: Apache-2.0 */
/* What a test tells the emulator, and asks it. Everything holds for the whole process. */
#ifndef TOKAVG_TESTS_CUDA_EMULATOR_CONTROL_H
#define TOKAVG_TESTS_CUDA_EMULATOR_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Decides every random choice from now on: the order of threads and blocks, the pauses of streams. Default:
 * CUDA_EMULATOR_SEED, or 1. */
void cuda_emulator_seed(uint64_t seed);

/* To be set before devices are used. Defaults: CUDA_EMULATOR_DEVICES, or 4; CUDA_EMULATOR_CAPABILITY, or 9.0. */
void cuda_emulator_device_count(int count);
void cuda_emulator_capability(int major, int minor);

enum {
  CUDA_EMULATOR_STICKY = 1, /* the device answers every later call with this error, until cuda_emulator_reset() */
  CUDA_EMULATOR_ASYNC = 2   /* the call succeeds; the error (which is then sticky) comes when the stream gets there */
};

/* The `kth` call from now on (1: the next) of the function NAME returns `error` and does nothing; but what frees
 * something frees it nevertheless, so that what is alive afterwards was forgotten. NAME: "cudaMalloc",
 * "ncclAllReduce", or a kernel's name. `device`: counts calls of threads with this current device only; for NCCL, of
 * communicators on it; -1: all. Also CUDA_EMULATOR_FAIL="name:kth:error,...", error a number or a name. */
void cuda_emulator_fail(const char* name, int kth, int error, int device, int flags);

/* Failures planned with cuda_emulator_fail() that have not happened. */
int cuda_emulator_failures_left(void);

/* Every work of this device's streams, so of this rank, starts so much later. */
void cuda_emulator_delay(int device, unsigned microseconds);

/* The same for one stream, a cudaStream_t. */
void cuda_emulator_delay_stream(void* stream, unsigned microseconds);

/* The longest of the random pauses that streams make; 0: none. Default: 200. */
void cuda_emulator_longest_pause(unsigned microseconds);

/* Calls since the last reset: of the function or kernel NAME; of everything that makes the host wait
 * (cudaStreamSynchronize, cudaDeviceSynchronize, cudaEventSynchronize, cudaMemcpy, cudaMemset, and copies to pageable
 * memory, under the name "pageable copy") or may make it wait for the whole GPU (cudaMalloc, cudaFree, cudaHostAlloc,
 * cudaFreeHost); of kernels. */
uint64_t cuda_emulator_calls(const char* name);
uint64_t cuda_emulator_synchronizations(void);
uint64_t cuda_emulator_launches(void);

/* What was called since the last reset, by whomever: the name of function or kernel number `index` in the order of the
 * alphabet, NULL behind the last. For a test that fails each: what it does not know is new. A name lives as long as the
 * process. Not among them, for they cannot fail: cudaGetLastError, cudaPeekAtLastError, texts of errors. */
const char* cuda_emulator_called(size_t index);

/* Objects that have not been freed: "memory", "pinned memory", "stream", "event", "graph", "graph exec",
 * "communicator", "reduction operator". */
size_t cuda_emulator_alive(const char* kind);

/* All of them together, one line on stderr for each kind that has any. CUDA_EMULATOR_LEAK_CHECK=1: at exit, which then
 * fails with code 86 if there is one. */
size_t cuda_emulator_report_leaks(void);

/* 0: operations of two communicators in an order that differs between ranks are not reported. Default: 1. */
void cuda_emulator_check_order(int on);

/* Forgets counts, planned failures, delays and sticky errors. Not the seed, nor what is alive. */
void cuda_emulator_reset(void);

#ifdef __cplusplus
}
#endif

#endif
