// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Kernels of operators that no library of ours has: for test/end_to_end/test_custom_operators.py,
// which implements the same operators in eager PyTorch.
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>

#include <optional>
#include <tuple>

namespace {

using executorch::aten::ArrayRef;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::KernelRuntimeContext;

/// Gives `out` the sizes of `like`; both must be of float32.
bool prepare(KernelRuntimeContext& ctx, const Tensor& like, Tensor& out) {
  if (like.scalar_type() != ScalarType::Float || out.scalar_type() != ScalarType::Float) {
    ctx.fail(Error::InvalidArgument);
    return false;
  }
  const Error error = executorch::runtime::resize_tensor(out, like.sizes());
  if (error != Error::Ok) {
    ctx.fail(error);
  }
  return error == Error::Ok;
}

Tensor& affine_out(KernelRuntimeContext& ctx, const Tensor& x, double scale,
                   std::optional<int64_t> shift, Tensor& out) {
  if (prepare(ctx, x, out)) {
    for (ssize_t i = 0; i < x.numel(); ++i) {
      out.mutable_data_ptr<float>()[i] = static_cast<float>(x.const_data_ptr<float>()[i] * scale +
                                                            static_cast<double>(shift.value_or(0)));
    }
  }
  return out;
}

std::tuple<Tensor&, Tensor&> signs_out(KernelRuntimeContext& ctx, const Tensor& x, Tensor& positive,
                                       Tensor& negative) {
  if (prepare(ctx, x, positive) && prepare(ctx, x, negative)) {
    for (ssize_t i = 0; i < x.numel(); ++i) {
      const float value = x.const_data_ptr<float>()[i];
      positive.mutable_data_ptr<float>()[i] = value > 0 ? value : 0;
      negative.mutable_data_ptr<float>()[i] = value < 0 ? value : 0;
    }
  }
  return {positive, negative};
}

Tensor& blend_out(KernelRuntimeContext& ctx, ArrayRef<Tensor> xs, ArrayRef<double> weights,
                  const std::optional<Tensor>& bias, Tensor& out) {
  if (xs.empty() || xs.size() != weights.size()) {
    ctx.fail(Error::InvalidArgument);
    return out;
  }
  if (prepare(ctx, xs[0], out)) {
    for (ssize_t i = 0; i < out.numel(); ++i) {
      double sum = bias.has_value() ? bias->const_data_ptr<float>()[i] : 0;
      for (size_t j = 0; j < xs.size(); ++j) {
        sum += xs[j].const_data_ptr<float>()[i] * weights[j];
      }
      out.mutable_data_ptr<float>()[i] = static_cast<float>(sum);
    }
  }
  return out;
}

void accumulate(KernelRuntimeContext& ctx, Tensor& state, const Tensor& x) {
  if (state.numel() != x.numel() || state.scalar_type() != ScalarType::Float) {
    ctx.fail(Error::InvalidArgument);
    return;
  }
  for (ssize_t i = 0; i < x.numel(); ++i) {
    state.mutable_data_ptr<float>()[i] += x.const_data_ptr<float>()[i];
  }
}

void accumulate_all(KernelRuntimeContext& ctx, ArrayRef<Tensor> states, const Tensor& x) {
  for (Tensor state : states) {
    accumulate(ctx, state, x);
  }
}

Tensor& step_out(KernelRuntimeContext& ctx, Tensor& state, const Tensor& x, Tensor& out) {
  if (prepare(ctx, x, out)) {
    accumulate(ctx, state, x);
    for (ssize_t i = 0; i < x.numel(); ++i) {
      out.mutable_data_ptr<float>()[i] = 2 * state.const_data_ptr<float>()[i];
    }
  }
  return out;
}

EXECUTORCH_LIBRARY(test_custom, "accumulate_", accumulate);
EXECUTORCH_LIBRARY(test_custom, "accumulate_all_", accumulate_all);
EXECUTORCH_LIBRARY(test_custom, "step.out", step_out);
EXECUTORCH_LIBRARY(test_custom, "affine.out", affine_out);
EXECUTORCH_LIBRARY(test_custom, "signs.out", signs_out);
EXECUTORCH_LIBRARY(test_custom, "blend.out", blend_out);

}  // namespace
