// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A custom operator: the kernel, for the device and for eager PyTorch.
#include "mul3.h"

#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>

using executorch::aten::RuntimeContext;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;

Tensor& mul3_out(RuntimeContext& ctx, const Tensor& x, Tensor& out) {
  if (x.scalar_type() != ScalarType::Float || out.scalar_type() != ScalarType::Float) {
    ET_LOG(Error, "mul3: expected tensors of float32");
    ctx.fail(executorch::runtime::Error::InvalidArgument);
    return out;
  }
  const auto error = executorch::runtime::resize_tensor(out, x.sizes());
  if (error != executorch::runtime::Error::Ok) {
    ctx.fail(error);
    return out;
  }
  for (ssize_t i = 0; i < x.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] = 3 * x.const_data_ptr<float>()[i];
  }
  return out;
}

EXECUTORCH_LIBRARY(my_ops, "mul3.out", mul3_out);
