// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The precision and values of an operator, in words for reports.
#pragma once

#include <string>

#include <executorch/backends/xnnpack/runtime/graph/graph.h>
#include <executorch/backends/xnnpack/runtime/operators/operator.h>

namespace executorch::backends::xnnpack {

/// The precision in which an operator computes a node.
/// @param factors The precision to which the operator rounds the factors of float32 products.
std::string precision_text(const Node& node, const Graph& graph,
                           kernels::engine::Precision factors);

/// Dtypes and sizes of operands and results: "float32 [1, 8], float32 [4, 8] -> float32 [1, 4]".
std::string values_text(const Node& node, const Tensors& tensors);

}  // namespace executorch::backends::xnnpack
