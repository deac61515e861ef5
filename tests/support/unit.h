/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka with the headers that it asks for; its own header forgets extern "C". */
#ifndef TOKAVG_TESTS_SUPPORT_UNIT_H
#define TOKAVG_TESTS_SUPPORT_UNIT_H

#ifdef __cplusplus
extern "C" {
#endif

/* The order matters to cmocka. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
