/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that are the same everywhere (splitmix64). */
#ifndef TOKAVG_TESTS_SUPPORT_RANDOM_H
#define TOKAVG_TESTS_SUPPORT_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* In [0, 1), a multiple of 2^-53. */
static inline double random_unit(uint64_t *state) { return (double)(random_next(state) >> 11) * 0x1p-53; }

/* 0 to below - 1. */
static inline int64_t random_below(uint64_t *state, int64_t below) {
  return (int64_t)(random_next(state) % (uint64_t)below);
}

#endif
