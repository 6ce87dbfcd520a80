// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The table of node kinds and the operators that run them.
#pragma once

#include <executorch/backends/xnnpack/runtime/operators/operator.h>

namespace executorch::backends::xnnpack {

/// @retval Error::InvalidProgram No operator supports the datatypes of the node's operands, or a
/// parameter is invalid.
/// @retval Error::MemoryAllocationFailed
OperatorResult create_operator(const Node& node, const OperatorContext& context);

/// True if the node's operator can add a residual and compute an activation.
bool has_epilogue(const Node& node, const OperatorContext& context);

}  // namespace executorch::backends::xnnpack
