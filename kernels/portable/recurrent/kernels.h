// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The recurrent operators' kernels, written once: a library defines its own with its loops.
#pragma once

#include <executorch/kernels/portable/recurrent/layers.h>

/// Defines kernel NAME of layers with one state.
#define EXECUTORCH_ONE_STATE_KERNEL(NAME, KIND, LOOPS)                                        \
  TwoTensors NAME(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& hx,           \
                  ArrayRef<Tensor> params, bool has_biases, int64_t num_layers,               \
                  bool bidirectional, bool batch_first, Tensor& out0, Tensor& out1) {         \
    Tensor* const finals[] = {&out1};                                                         \
    run_layers(ctx, LOOPS(KIND),                                                              \
               {KIND, input, hx, params, has_biases, num_layers, bidirectional, batch_first}, \
               out0, finals);                                                                 \
    return {out0, out1};                                                                      \
  }

/// Defines lstm_out, gru_out, rnn_tanh_out and rnn_relu_out in the current namespace. LOOPS: a
/// function that returns the RecurrentLoops of a kind of layers.
#define EXECUTORCH_RECURRENT_KERNELS(LOOPS)                                                        \
  std::tuple<Tensor&, Tensor&, Tensor&> lstm_out(                                                  \
      KernelRuntimeContext& ctx, const Tensor& input, ArrayRef<Tensor> hx,                         \
      ArrayRef<Tensor> params, bool has_biases, int64_t num_layers, bool bidirectional,            \
      bool batch_first, Tensor& out0, Tensor& out1, Tensor& out2) {                                \
    Tensor* const finals[] = {&out1, &out2};                                                       \
    run_layers(                                                                                    \
        ctx, LOOPS(Recurrence::Lstm),                                                              \
        {Recurrence::Lstm, input, hx, params, has_biases, num_layers, bidirectional, batch_first}, \
        out0, finals);                                                                             \
    return {out0, out1, out2};                                                                     \
  }                                                                                                \
  EXECUTORCH_ONE_STATE_KERNEL(gru_out, Recurrence::Gru, LOOPS)                                     \
  EXECUTORCH_ONE_STATE_KERNEL(rnn_tanh_out, Recurrence::Tanh, LOOPS)                               \
  EXECUTORCH_ONE_STATE_KERNEL(rnn_relu_out, Recurrence::Relu, LOOPS)
