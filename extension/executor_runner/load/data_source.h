// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <memory>
#include <string>

#include <executorch/extension/executor_runner/options.h>
#include <executorch/runtime/core/data_loader.h>

namespace executorch::extension::executor_runner {

/// A loader of a program or data file: mapped, or, with --verify, verified and in memory. Ends the
/// process with a line on stderr if it cannot be read or was not signed.
std::unique_ptr<runtime::DataLoader> open_data(const Options& options, const std::string& path);

}  // namespace executorch::extension::executor_runner
