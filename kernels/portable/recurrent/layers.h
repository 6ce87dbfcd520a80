// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Stacks of recurrent layers, shared with the optimized library, whose kernels are these functions
// with other loops.
//
// The inputs of all steps are multiplied by their weights at once (in chunks of steps that stay in
// cache); then each step multiplies the hidden state, and computes the cells. All floating dtypes,
// the same for all tensors; 16-bit floats are computed in float32, hidden states too.
#pragma once

#include <executorch/kernels/loops/dtype/types.h>
#include <executorch/kernels/portable/recurrent/loops.h>

#include <tuple>

namespace executorch::kernels {

/// Arguments as PyTorch's lstm.input, gru.input, rnn_tanh.input have them.
struct RecurrentLayers {
  Recurrence kind;
  /// [steps, batch, features], or [batch, steps, features] if batch_first.
  const Tensor& input;
  /// Hidden state [layers * directions, batch, H or projection]; an LSTM also has the cell state
  /// [.., H].
  ArrayRef<Tensor> states;
  /// For each layer and direction: weights of the input and of the hidden state, biases of both if
  /// has_biases, weights of the projection if the two states differ in size.
  ArrayRef<Tensor> parameters;
  bool has_biases;
  int64_t layers;
  bool bidirectional;
  bool batch_first;
};

/// out: the last layer's hidden states in the input's layout, with concatenated directions;
/// `finals`: the states after the last step. Without steps, states are unchanged. Fails the context
/// with InvalidArgument for inconsistent sizes, with MemoryAllocationFailed without temporary
/// memory.
void run_layers(KernelRuntimeContext& ctx, const RecurrentLoops& loops,
                const RecurrentLayers& arguments, Tensor& out, Tensor* const* finals);

using TwoTensors = std::tuple<Tensor&, Tensor&>;

}  // namespace executorch::kernels
