// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <optional>

namespace executorch::runtime::etensor {
using std::nullopt;
using std::nullopt_t;
using std::optional;
}  // namespace executorch::runtime::etensor

// Documented names of the same things.
namespace torch::executor {
using std::nullopt;
using std::nullopt_t;
using std::optional;
}  // namespace torch::executor
