// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Functions that create the operators of each family. Each returns Error::InvalidProgram, after a
// message that names the node, for operands that it does not take.
#pragma once

#include <executorch/backends/xnnpack/runtime/operators/operator.h>

namespace executorch::backends::xnnpack {

using CreateOperator = OperatorResult (*)(const Node& node, const OperatorContext& context);

// With XNNPACK's operator API. A build without XNNPACK refuses each node with Error::NotSupported.
OperatorResult create_xnn_convolution(const Node& node, const OperatorContext& context);
OperatorResult create_xnn_deconvolution(const Node& node, const OperatorContext& context);
OperatorResult create_xnn_linear(const Node& node, const OperatorContext& context);
OperatorResult create_xnn_unary(const Node& node, const OperatorContext& context);
OperatorResult create_xnn_convert(const Node& node, const OperatorContext& context);
OperatorResult create_xnn_binary(const Node& node, const OperatorContext& context);
OperatorResult create_xnn_attention(const Node& node, const OperatorContext& context);
OperatorResult create_xnn_pooling(const Node& node, const OperatorContext& context);
OperatorResult create_xnn_reduction(const Node& node, const OperatorContext& context);
OperatorResult create_xnn_resize(const Node& node, const OperatorContext& context);
OperatorResult create_xnn_transpose(const Node& node, const OperatorContext& context);

// On the engine for float32, else on XNNPACK.
OperatorResult create_convolution(const Node& node, const OperatorContext& context);
OperatorResult create_linear(const Node& node, const OperatorContext& context);
/// A linear layer with has_narrow_weights().
OperatorResult create_narrow_linear(const Node& node, const OperatorContext& context);
OperatorResult create_batch_matmul(const Node& node, const OperatorContext& context);
OperatorResult create_unary(const Node& node, const OperatorContext& context);
OperatorResult create_binary(const Node& node, const OperatorContext& context);
OperatorResult create_softmax(const Node& node, const OperatorContext& context);
OperatorResult create_pooling(const Node& node, const OperatorContext& context);
OperatorResult create_reduction(const Node& node, const OperatorContext& context);
OperatorResult create_resize(const Node& node, const OperatorContext& context);
OperatorResult create_transpose(const Node& node, const OperatorContext& context);
OperatorResult create_quantized_linear(const Node& node, const OperatorContext& context);
OperatorResult create_quantized_convolution(const Node& node, const OperatorContext& context);
OperatorResult create_planes(const Node& node, const OperatorContext& context);
OperatorResult create_attention(const Node& node, const OperatorContext& context);
OperatorResult create_lookup(const Node& node, const OperatorContext& context);
/// Nodes that fusion creates.
OperatorResult create_fused(const Node& node, const OperatorContext& context);

/// True if create_convolution() and create_linear() run a node on the engine, which computes
/// epilogues.
bool is_engine_convolution(const Node& node, const OperatorContext& context);
bool is_engine_linear(const Node& node, const OperatorContext& context);
/// True for a linear layer that the engine multiplies in float32, and whose constant weights are
/// bfloat16 or float16.
bool has_narrow_weights(const Node& node, const OperatorContext& context);
/// True if create_convolution() runs a node on the engine with these pairs of bfloat16.
bool can_read_pairs(const Node& node, const OperatorContext& context);
bool can_write_pairs(const Node& node, const OperatorContext& context);
/// True if the operator of create_attention() can run a fused node on tensors of the declared
/// sizes.
bool takes_attention(const Graph& graph, const Node& node);
/// True if one of these reads weights and bias only at creation.
bool packs_weights(const Node& node, const OperatorContext& context);
/// True if the engine runs a linear layer or convolution on integers.
bool is_engine_quantized(const Node& node, const OperatorContext& context);
/// True for one that can add another int8 tensor to its result.
bool adds_quantized(const Node& node, const OperatorContext& context);

// On loops in this folder.
OperatorResult create_copy(const Node& node, const OperatorContext& context);
OperatorResult create_slice(const Node& node, const OperatorContext& context);
OperatorResult create_pad(const Node& node, const OperatorContext& context);
OperatorResult create_concatenate(const Node& node, const OperatorContext& context);
OperatorResult create_gather(const Node& node, const OperatorContext& context);
OperatorResult create_select(const Node& node, const OperatorContext& context);
OperatorResult create_comparison(const Node& node, const OperatorContext& context);
/// For booleans and for builds without XNNPACK.
OperatorResult create_plain_transpose(const Node& node, const OperatorContext& context);
OperatorResult create_plain_convert(const Node& node, const OperatorContext& context);

/// Refuses a node whose operator does not support the datatypes of its operands.
runtime::Error refuse_datatypes(const Node& node, const OperatorContext& context);
/// Returns the bytes of an element that a node moves from its operand to its result. Refuses a node
/// whose result has other elements.
runtime::Result<size_t> moved_element_bytes(const Node& node, const OperatorContext& context);
/// Refuses a node that needs XNNPACK.
runtime::Error refuse_without_xnnpack(const Node& node, const OperatorContext& context);

}  // namespace executorch::backends::xnnpack
