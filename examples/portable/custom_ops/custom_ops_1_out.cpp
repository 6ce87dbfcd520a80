// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The kernel of my_ops::mul3.out, which custom_ops.yaml binds.
#include <executorch/runtime/kernel/kernel_includes.h>

namespace custom {
namespace native {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::KernelRuntimeContext;

Tensor& mul3_out_impl(KernelRuntimeContext& ctx, const Tensor& input, Tensor& output) {
  ET_KERNEL_CHECK(
      ctx, input.scalar_type() == ScalarType::Float && output.scalar_type() == ScalarType::Float,
      InvalidArgument, output);
  ET_KERNEL_CHECK(ctx, executorch::runtime::resize_tensor(output, input.sizes()) == Error::Ok,
                  InvalidArgument, output);
  const float* const from = input.const_data_ptr<float>();
  float* const to = output.mutable_data_ptr<float>();
  for (ssize_t i = 0; i < input.numel(); ++i) {
    to[i] = 3 * from[i];
  }
  return output;
}

}  // namespace native
}  // namespace custom
