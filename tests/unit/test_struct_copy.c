/* SPDX-License-Identifier: Apache-2.0 */
/* A library that knows more of a struct than its caller does: what a caller of 1.0 meets once a struct has grown. */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

#include "support/internal_struct.h"

static const internal_grown_t whole = {0, 1, 2, 3, 4, 0};
static char text[256];

/* The first `size` bytes of `whole` and no byte more, so that a sanitizer sees who reads or writes beyond them. */
static unsigned char *theirs_of(uint32_t size) {
  unsigned char *theirs = calloc(1, size);
  assert_non_null(theirs);
  memcpy(theirs, &whole, size < sizeof whole ? size : sizeof whole);
  memcpy(theirs, &size, sizeof size);
  return theirs;
}

/* What the caller does not have is zero, also the rest of a field of which it has a part. */
static void reading(void **state) {
  (void)state;
  for (uint32_t size = 4; size <= 64; size++) {
    unsigned char *theirs = theirs_of(size);
    internal_grown_t ours;
    memset(&ours, 0x5a, sizeof ours);
    const tokavg_status_t status = internal_read_grown(theirs, &ours, text);
    internal_grown_t expected = {0};
    memcpy(&expected, theirs, size < sizeof expected ? size : sizeof expected);
    free(theirs);
    if (size < INTERNAL_GROWN_SHORTEST) {
      assert_int_equal(status, TOKAVG_ERR_ARGUMENT);
      assert_non_null(strstr(text, "grown.struct_size is"));
      continue;
    }
    assert_int_equal(status, TOKAVG_OK);
    assert_memory_equal(&ours, &expected, sizeof ours);
  }
}

static void an_unknown_tail(void **state) {
  (void)state;
  for (uint32_t at = sizeof whole; at < 64; at++) {
    unsigned char *theirs = theirs_of(64);
    internal_grown_t ours;
    theirs[at] = 0x80;
    assert_int_equal(internal_read_grown(theirs, &ours, text), TOKAVG_ERR_UNSUPPORTED);
    assert_non_null(strstr(text, "grown has byte"));
    free(theirs);
  }
}

/* Never beyond the caller's size; its size stays what it said; what we do not know of is zero. */
static void writing(void **state) {
  (void)state;
  for (uint32_t size = 4; size <= 64; size++) {
    unsigned char *theirs = theirs_of(size);
    unsigned char *before = theirs_of(size);
    memset(theirs + 4, 0x5a, size - 4);
    memset(before + 4, 0x5a, size - 4);
    const tokavg_status_t status = internal_write_grown(&whole, theirs, text);
    unsigned char *expected = size < INTERNAL_GROWN_SHORTEST ? before : theirs_of(size);
    assert_int_equal(status, size < INTERNAL_GROWN_SHORTEST ? TOKAVG_ERR_ARGUMENT : TOKAVG_OK);
    assert_memory_equal(theirs, expected, size);
    if (expected != before) free(expected);
    free(before);
    free(theirs);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reading),
      cmocka_unit_test(an_unknown_tail),
      cmocka_unit_test(writing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
