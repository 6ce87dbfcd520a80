// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

namespace executorch::runtime::internal {

/// A method's parametric plan is named data: this prefix, then the method's name.
inline constexpr char kParametricPlanPrefix[] = "executorch.plan.";

}  // namespace executorch::runtime::internal
