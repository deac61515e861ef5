/* SPDX-License-Identifier: Apache-2.0 */
/* Ways in which a matrix can lie in memory. */
#ifndef TOKAVG_TESTS_SUPPORT_LAYOUT_H
#define TOKAVG_TESTS_SUPPORT_LAYOUT_H

#include <stdint.h>

enum { LAYOUT_CONTIGUOUS, LAYOUT_PADDED, LAYOUT_TRANSPOSED, LAYOUT_REVERSED, LAYOUT_KINDS };

/* Element (r, c) is number first + r * row_stride + c * col_stride of `extent` elements. */
typedef struct layout {
  int64_t first;
  int64_t row_stride;
  int64_t col_stride;
  int64_t extent;
} layout_t;

static inline layout_t layout_make(int kind, int64_t rows, int64_t cols) {
  switch (kind) {
    case LAYOUT_PADDED: return (layout_t){3, 2 * cols + 5, 2, 3 + rows * (2 * cols + 5)};
    case LAYOUT_TRANSPOSED: return (layout_t){0, 1, rows, rows * cols};
    case LAYOUT_REVERSED: return (layout_t){rows * cols - 1, -cols, -1, rows * cols};
    default: return (layout_t){0, cols, 1, rows * cols};
  }
}

static inline int64_t layout_at(layout_t layout, int64_t r, int64_t c) {
  return layout.first + r * layout.row_stride + c * layout.col_stride;
}

#endif
