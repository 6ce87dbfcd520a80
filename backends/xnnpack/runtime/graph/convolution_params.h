// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/backends/xnnpack/runtime/graph/graph.h>
#include <executorch/kernels/engine/conv/conv.h>

namespace executorch::backends::xnnpack {

/// The engine's parameters of a convolution, transposed or not.
kernels::engine::Conv2dParams convolution_params(const Node& node);

}  // namespace executorch::backends::xnnpack
