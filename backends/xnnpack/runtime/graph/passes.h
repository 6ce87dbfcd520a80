// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Passes over a graph before it is planned; each keeps the graph's results.
#pragma once

#include <functional>
#include <vector>

#include <executorch/backends/xnnpack/runtime/graph/graph.h>

namespace executorch::backends::xnnpack {

/// Makes values of float16 and bfloat16 inside the graph float32 ones: arguments are converted when
/// they are first read and when they are written, constants once. Results are as near to those of
/// exact arithmetic as float32 gives; only the program's own conversions round in between. Products
/// of bfloat16 values may round their factors to it again.
void widen_halves(Graph* graph);

/// Permits products of float32 values to round their factors.
void permit_precision(Graph* graph, kernels::engine::Precision precision);

/// Lets quantized nodes compute in float32: their operands are converted before and their results
/// behind them. For builds without XNNPACK; nodes that run on integers do not change.
void widen_quantized(Graph* graph, const std::function<bool(const Node&)>& runs_on_integers);

/// Makes a node of its own of each clamp that its node's operator does not compute.
void separate_clamps(Graph* graph);

/// Fuses clamps into the node before them.
void fuse_clamps(Graph* graph);

/// Lets convolutions pad their images with zeros themselves.
void fuse_paddings(Graph* graph);

/// Makes one node of each depthwise convolution between two changes of layout, where that is
/// faster.
void fuse_planes(Graph* graph);

/// Makes one node of x * sigmoid(x).
void fuse_silu(Graph* graph);

/// Makes one node of each layer norm, which payloads have as a dozen.
void fuse_layer_norms(Graph* graph);

/// Fuses additions and activations into the product before them.
/// @param has_epilogue Whether a node's operator can.
void fuse_epilogues(Graph* graph, const std::function<bool(const Node&)>& has_epilogue);

/// Maps each value to the value whose memory it shares, and removes the reshapes and copies that
/// sharing makes unnecessary.
std::vector<uint32_t> alias_values(Graph* graph);

}  // namespace executorch::backends::xnnpack
