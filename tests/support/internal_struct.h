/* SPDX-License-Identifier: Apache-2.0 */
/* The copies of base/struct_copy.hpp, for a struct that has grown since 1.0, as none of the interface has yet. */
#ifndef TOKAVG_TESTS_SUPPORT_INTERNAL_STRUCT_H
#define TOKAVG_TESTS_SUPPORT_INTERNAL_STRUCT_H

#include <stdint.h>

#include "tokavg/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A caller of 1.0 knows the first 16 bytes. */
enum { INTERNAL_GROWN_SHORTEST = 16 };
typedef struct internal_grown {
  uint32_t struct_size;
  int32_t old;
  int64_t old_too;
  int64_t newer;
  int32_t newest;
  int32_t reserved;
} internal_grown_t;

/* TOKAVG_OK, or the status and the text of what was thrown. */
tokavg_status_t internal_read_grown(const void *theirs, internal_grown_t *ours_out, char text_out[256]);
/* What a call does with a struct that it only writes. */
tokavg_status_t internal_write_grown(const internal_grown_t *ours, void *theirs, char text_out[256]);

#ifdef __cplusplus
}
#endif

#endif
