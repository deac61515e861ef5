// SPDX-License-Identifier: Apache-2.0
// The two ways in which a run of the tool ends early.
#pragma once

#include <stdexcept>

namespace tokavg_tool {

/// Something went wrong on this rank.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A wrong argument or file: every rank finds it, so that one of them is enough to say so.
class UsageError : public Failure {
 public:
  using Failure::Failure;
};

}  // namespace tokavg_tool
