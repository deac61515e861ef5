/* SPDX-License-Identifier: Apache-2.0 */
#include "channel.h"

#include <time.h>

int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void nap_ns(int64_t duration_ns) {
  struct timespec time = {.tv_sec = duration_ns / 1000000000, .tv_nsec = duration_ns % 1000000000};
  nanosleep(&time, NULL);
}
