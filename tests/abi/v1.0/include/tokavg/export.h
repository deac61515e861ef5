/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file export.h
 * @brief Linkage of the public functions. Nothing here is of use to an application.
 */
#ifndef TOKAVG_EXPORT_H
#define TOKAVG_EXPORT_H

/** Marks a public function: C linkage, default visibility. */
#if defined(__cplusplus)
#define TOKAVG_EXTERN extern "C"
#else
#define TOKAVG_EXTERN extern
#endif

#if defined(__GNUC__) || defined(__clang__)
/** Marks a public function: C linkage, default visibility. */
#define TOKAVG_API TOKAVG_EXTERN __attribute__((visibility("default")))
#else
/** Marks a public function: C linkage, default visibility. */
#define TOKAVG_API TOKAVG_EXTERN
#endif

/** No public function lets an exception out. Empty in C and before C++11. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define TOKAVG_NOEXCEPT noexcept
#else
#define TOKAVG_NOEXCEPT
#endif

#endif
