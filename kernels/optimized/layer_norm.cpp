// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Layer norm of contiguous float32; the portable kernel does the rest.
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/optimized/isa.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/check.h>
#include <executorch/kernels/portable/loops/divide.h>

namespace executorch::kernels::optimized {
namespace {

bool plain(const Tensor& tensor) {
  if (tensor.scalar_type() != ScalarType::Float) return false;
  const auto strides = tensor.strides();
  int64_t step = 1;
  for (int64_t d = tensor.dim() - 1; d >= 0; --d) {
    if (tensor.size(d) != 1 && strides[d] != step) return false;
    step *= tensor.size(d);
  }
  return true;
}

/// The sizes are the last ones of the tensor.
bool ends_with(const Tensor& tensor, ArrayRef<int64_t> sizes) {
  const int64_t rank = tensor.dim(), trailing = int64_t(sizes.size());
  if (trailing == 0 || trailing > rank) return false;
  for (int64_t d = 0; d < trailing; ++d) {
    if (tensor.size(rank - trailing + d) != sizes[d]) return false;
  }
  return true;
}

bool fits(const std::optional<Tensor>& parameter, ArrayRef<int64_t> sizes) {
  return !parameter || (plain(*parameter) && parameter->dim() == int64_t(sizes.size()) &&
                        ends_with(*parameter, sizes));
}

const float* floats(const std::optional<Tensor>& tensor) {
  return tensor ? static_cast<const float*>(tensor->const_data_ptr()) : nullptr;
}

float* floats(Tensor& tensor) { return static_cast<float*>(tensor.mutable_data_ptr()); }

}  // namespace

std::tuple<Tensor&, Tensor&, Tensor&> native_layer_norm_out(
    KernelRuntimeContext& ctx, const Tensor& input, ArrayRef<int64_t> normalized_shape,
    const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps,
    Tensor& out0, Tensor& out1, Tensor& out2) {
  const auto resize = [&] {
    portable::Shape statistics(input);
    const int trailing = int(normalized_shape.size());
    for (int d = 0; d < trailing; ++d) statistics.sizes[statistics.rank - 1 - d] = 1;
    return portable::resize_like(ctx, out0, input) && portable::resize(ctx, out1, statistics) &&
           portable::resize(ctx, out2, statistics);
  };
  const bool fast = plain(input) && ends_with(input, normalized_shape) &&
                    fits(weight, normalized_shape) && fits(bias, normalized_shape) &&
                    out1.scalar_type() == ScalarType::Float &&
                    out2.scalar_type() == ScalarType::Float &&
                    out0.scalar_type() == ScalarType::Float && input.numel() > 0;
  if (!fast) {
    return portable::native_layer_norm_out(ctx, input, normalized_shape, weight, bias, eps, out0,
                                           out1, out2);
  }
  if (!resize()) return {out0, out1, out2};
  if (!plain(out0)) {
    return portable::native_layer_norm_out(ctx, input, normalized_shape, weight, bias, eps, out0,
                                           out1, out2);
  }
  int64_t n = 1;
  for (const int64_t size : normalized_shape) n *= size;
  const float* const in = static_cast<const float*>(input.const_data_ptr());
  portable::Division(input.numel() / n, 1, input.numel())
      .run([&](int64_t, int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          isa().layer_norm(in + row * n, floats(out0) + row * n, n, floats(weight), floats(bias),
                           float(eps), floats(out1) + row, floats(out2) + row);
        }
      });
  return {out0, out1, out2};
}

}  // namespace executorch::kernels::optimized
