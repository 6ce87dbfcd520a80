// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <string_view>

namespace executorch::runtime::etensor {
using std::string_view;
}  // namespace executorch::runtime::etensor

// Documented names of the same things.
namespace torch::executor {
using std::string_view;
}  // namespace torch::executor
