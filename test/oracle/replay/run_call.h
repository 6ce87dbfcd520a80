// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <string>

#include "replay/recorded_call.h"

namespace oracle {

struct Outcome {
  KernelRun run;
  std::string messages;
};

/// Runs the call's kernel on its values, which it changes: outputs get data and sizes.
Outcome run_call(Call& call);

/// Empty where the outcome of `run_call` is what is expected, else what is wrong.
std::string judge(const Call& after, const Outcome& outcome);

}  // namespace oracle
