// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "cuda_emulator/control.h"

namespace cuda_emulator {

struct Failure {
  std::string name;
  int kth = 1;
  int error = 0;
  int device = -1;
  int flags = 0;
};

void plan_failure(const Failure& failure);

// What this call of `name` is to return, if a failure was planned for it; that one is then over.
std::optional<Failure> planned_failure(const std::string& name, int device);

int failures_left();
void forget_failures();

}  // namespace cuda_emulator
