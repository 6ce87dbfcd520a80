// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/devtools/bundled_program/bundle.h>
#include <executorch/extension/executor_runner/options.h>
#include <executorch/runtime/executor/program.h>

namespace executorch::extension::executor_runner {

/// Runs every test case (of --method, if it is given), prints a line for each: whether it passed,
/// and how far the outputs are from those expected. True if none failed; ends the process with a
/// line on stderr if there are none.
bool run_test_cases(const bundled_program::Bundle& bundle, const runtime::Program& program,
                    const Options& options);

}  // namespace executorch::extension::executor_runner
