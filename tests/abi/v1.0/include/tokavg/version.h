/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file version.h
 * @brief The version of these headers; tokavg_version() gives that of the library that was loaded.
 */
#ifndef TOKAVG_VERSION_H
#define TOKAVG_VERSION_H

/** Major version: changes only when a published symbol or struct would change its meaning. */
#define TOKAVG_VERSION_MAJOR 1
/** Minor version: new functions, new struct fields at the end. */
#define TOKAVG_VERSION_MINOR 0
/** Patch version: corrections only. */
#define TOKAVG_VERSION_PATCH 0
/** The version as text, "major.minor.patch". */
#define TOKAVG_VERSION_STRING "1.0.0"
/** The number in the library's SONAME; a program built with one number runs with every library of that number. */
#define TOKAVG_ABI_VERSION 1

#endif /* TOKAVG_VERSION_H */
