// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Recurrent layers kept whole.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/recurrent/layers.h>

namespace executorch::kernels::portable {
namespace {

RecurrentLoops plain_loops() { return {plain_gemm_tiles(), plain_cells()}; }

}  // namespace

std::tuple<Tensor&, Tensor&, Tensor&> lstm_out(KernelRuntimeContext& ctx, const Tensor& input,
                                               ArrayRef<Tensor> hx, ArrayRef<Tensor> params,
                                               bool has_biases, int64_t num_layers,
                                               bool bidirectional, bool batch_first, Tensor& out0,
                                               Tensor& out1, Tensor& out2) {
  Tensor* const finals[] = {&out1, &out2};
  run_layers(
      ctx, plain_loops(),
      {Recurrence::Lstm, input, hx, params, has_biases, num_layers, bidirectional, batch_first},
      out0, finals);
  return {out0, out1, out2};
}

TwoTensors gru_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& hx,
                   ArrayRef<Tensor> params, bool has_biases, int64_t num_layers, bool bidirectional,
                   bool batch_first, Tensor& out0, Tensor& out1) {
  return run_one_state(
      ctx, plain_loops(),
      {Recurrence::Gru, input, hx, params, has_biases, num_layers, bidirectional, batch_first},
      out0, out1);
}

TwoTensors rnn_tanh_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& hx,
                        ArrayRef<Tensor> params, bool has_biases, int64_t num_layers,
                        bool bidirectional, bool batch_first, Tensor& out0, Tensor& out1) {
  return run_one_state(
      ctx, plain_loops(),
      {Recurrence::Tanh, input, hx, params, has_biases, num_layers, bidirectional, batch_first},
      out0, out1);
}

TwoTensors rnn_relu_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& hx,
                        ArrayRef<Tensor> params, bool has_biases, int64_t num_layers,
                        bool bidirectional, bool batch_first, Tensor& out0, Tensor& out1) {
  return run_one_state(
      ctx, plain_loops(),
      {Recurrence::Relu, input, hx, params, has_biases, num_layers, bidirectional, batch_first},
      out0, out1);
}

}  // namespace executorch::kernels::portable
