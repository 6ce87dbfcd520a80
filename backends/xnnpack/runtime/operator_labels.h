// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <string>
#include <vector>

#include <executorch/backends/xnnpack/serialization/xnnpack_graph_generated.h>

namespace executorch::backends::xnnpack {

/// What operators are reported as: XNNPACK's name, a number among those of the name, and the debug
/// handle of the payload's node that it runs: "Fully Connected (NC, F32) GEMM #1 [7]".
///
/// XNNPACK does not say which node an operator runs. It keeps their order and leaves some out, so
/// that an operator is the next node whose kind has operators of its name; where there is none, the
/// handle is left out.
/// @param names XNNPACK's, in the order of its runtime.
std::vector<std::string> operator_labels(const std::vector<std::string>& names,
                                         const fb_xnnpack::XNNGraph& graph);

}  // namespace executorch::backends::xnnpack
