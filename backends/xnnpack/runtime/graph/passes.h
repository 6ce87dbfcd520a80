// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Passes over a graph before it is planned; each keeps the graph's results.
#pragma once

#include <functional>
#include <vector>

#include <executorch/backends/xnnpack/runtime/graph/graph.h>

namespace executorch::backends::xnnpack {

/// Replaces float16 and bfloat16 values inside the graph by float32. Arguments are converted at
/// their first read and at their write, constants once, weights of linear layers and convolutions
/// only to be packed (Graph::narrow_weights). Results have the accuracy of float32; only
/// conversions of the program round in between. Products of bfloat16 values may round their factors
/// to bfloat16 again.
/// @retval Error::MemoryAllocationFailed The memory of all delegates does not suffice for
/// constants.
runtime::Error widen_halves(Graph* graph);

/// The elements of a constant of float32. If they must be converted, `storage` has them: empty, or
/// from an earlier call for this constant. Null if the memory of all delegates does not suffice.
const float* float_contents(const Graph& graph, uint32_t constant, DelegateBlock* storage);

/// Permits products of float32 values to round their factors.
void permit_precision(Graph* graph, kernels::engine::Precision precision);

/// Makes quantized nodes compute in float32, with conversions of operands before and of results
/// after them. For builds without XNNPACK. Nodes that run on integers do not change.
/// @retval Error::MemoryAllocationFailed As of widen_halves().
runtime::Error widen_quantized(Graph* graph,
                               const std::function<bool(const Node&)>& runs_on_integers);

/// Adds a clamp node after each node whose operator cannot clamp.
void separate_clamps(Graph* graph);

/// Fuses clamps into the node before them.
void fuse_clamps(Graph* graph);

/// Fuses zero paddings of images into convolutions.
void fuse_paddings(Graph* graph);

/// Fuses each depthwise convolution with the layout changes before and after it, where that is
/// faster.
void fuse_planes(Graph* graph);

/// Fuses x * sigmoid(x).
void fuse_silu(Graph* graph);

/// Fuses each layer norm, which payloads spell out in about twelve nodes, and each RMS norm.
void fuse_norms(Graph* graph);

/// Fuses each rotary position embedding: rotations of halves or of neighboring channels, of all or
/// of the first channels.
void fuse_rotary(Graph* graph);

/// Fuses silu(x) * y, unless the activation is already the epilogue of a product.
void fuse_silu_products(Graph* graph);

/// True if one operator can run a node of attention on tensors of the declared sizes.
using TakesAttention = std::function<bool(const Graph&, const Node&)>;
/// Fuses each product, softmax and product into one node of attention, if `takes` returns true for
/// that node.
void fuse_attention(Graph* graph, const TakesAttention& takes);

/// Moves dequantizations after slices and reshapes.
void sink_conversions(Graph* graph);

/// Makes one lookup of each function of one byte that the graph computes in float32, and removes
/// dequantizations that are quantized again with the same parameters.
void fuse_lookups(Graph* graph);

/// Fuses additions and activations into the product before them.
/// @param has_epilogue Returns whether a node's operator supports it.
void fuse_epilogues(Graph* graph, const std::function<bool(const Node&)>& has_epilogue);

/// Makes convolutions write pairs of bfloat16 where their only reader is a convolution
/// that rounds its image to pairs.
/// @param can_write_pairs Returns whether a node's operator can write them.
/// @param can_read_pairs Returns whether a node's operator can read them.
void fuse_roundings(Graph* graph, const std::function<bool(const Node&)>& can_write_pairs,
                    const std::function<bool(const Node&)>& can_read_pairs);

/// Maps each value to the value whose memory it shares, and removes the reshapes and copies that
/// sharing makes unnecessary.
std::vector<uint32_t> alias_values(Graph* graph);

}  // namespace executorch::backends::xnnpack
