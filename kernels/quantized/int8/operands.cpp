// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/quantized/int8/operands.h>

namespace executorch::kernels::quantized {

bool expect_int8(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor) {
  return expect_dtype(ctx, name, tensor, ScalarType::Char);
}

bool expect_limits(KernelRuntimeContext& ctx, int64_t out_zero, int64_t out_min, int64_t out_max) {
  return ET_EXPECT(ctx,
                   -128 <= out_min && out_min <= out_max && out_max <= 127 && -128 <= out_zero &&
                       out_zero <= 127,
                   "zero point and limits must be int8, found %" PRId64 ", %" PRId64
                   " and %" PRId64,
                   out_zero, out_min, out_max);
}

bool expect_input_zero(KernelRuntimeContext& ctx, int64_t input_zero) {
  return ET_EXPECT(ctx, -128 <= input_zero && input_zero <= 127,
                   "input_zero_point must be int8, found %" PRId64, input_zero);
}

bool expect_weights(KernelRuntimeContext& ctx, const Tensor& weight, const Tensor& scales,
                    const Tensor& offsets) {
  return ET_EXPECT(ctx, weight.dim() >= 2, "weight must have 2 dimensions or more, found %s",
                   ShapeText(weight).text) &&
         expect_channels(ctx, weight, weight.size(0), kMaxTerms, scales, offsets);
}

bool expect_channels(KernelRuntimeContext& ctx, const Tensor& weight, int64_t channels,
                     int64_t max_terms, const Tensor& scales, const Tensor& offsets) {
  return expect_int8(ctx, "weight", weight) &&
         expect_dtype(ctx, "scales", scales, ScalarType::Float) &&
         expect_dtype(ctx, "offsets", offsets, ScalarType::Float) &&
         ET_EXPECT(ctx, scales.numel() == channels && offsets.numel() == channels,
                   "scales and offsets must be one for each of %" PRId64
                   " channels, found %s and %s",
                   channels, ShapeText(scales).text, ShapeText(offsets).text) &&
         ET_EXPECT(ctx, in_index_order(Strided(weight)), "weight must be contiguous") &&
         ET_EXPECT(ctx, weight.numel() <= max_terms * channels,
                   "a channel may have %" PRId64 " weights, found %s", max_terms,
                   ShapeText(weight).text);
}

}  // namespace executorch::kernels::quantized
