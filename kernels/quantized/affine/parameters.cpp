// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/memory/loop_nest.h>
#include <executorch/kernels/quantized/affine/parameters.h>

namespace executorch::kernels::quantized {

namespace {

/// Calls `take(index, value)` for each element of a tensor in logical order, read as C.
template <class C, class Take>
void each_element(const Tensor& tensor, Take&& take) {
  const Strided memory(tensor);
  const int64_t n = memory.numel();
  int64_t index[Strided::kCapacity] = {};
  for (int64_t i = 0; i < n; ++i) {
    const char* from = memory.data;
    for (int d = 0; d < memory.rank; ++d) from += index[d] * memory.strides[d];
    take(i, read<C>(from, memory.dtype));
    for (int d = memory.rank - 1; d >= 0 && ++index[d] == memory.sizes[d]; --d) index[d] = 0;
  }
}

}  // namespace

Parameters* read_parameters(KernelRuntimeContext& ctx, const Tensor& scales,
                            const Tensor* zero_points, Towards towards,
                            ParameterPlaces& parameters) {
  if (!expect_floating(ctx, "scales", scales)) return nullptr;
  const int64_t n = scales.numel();
  if (zero_points != nullptr &&
      (!expect_number(ctx, "zero_points", *zero_points) ||
       !ET_EXPECT(ctx, zero_points->numel() == n,
                  "there must be a zero point for each scale, found %s and %s",
                  ShapeText(*zero_points).text, ShapeText(scales).text))) {
    return nullptr;
  }
  auto* const list = allocate<Parameters>(ctx, n);
  if (list == nullptr) return nullptr;
  const ScalarType dtype = scales.scalar_type();
  each_element<double>(scales, [&](int64_t i, double scale) {
    const bool inverse = towards == Towards::Integers;
    list[i] = {inverse ? rounded_to(dtype, 1.0 / scale) : scale, 0.0, 0};
  });
  if (zero_points != nullptr) {
    each_element<double>(*zero_points,
                         [&](int64_t i, double zero_point) { list[i].zero_point = zero_point; });
    each_element<int64_t>(
        *zero_points, [&](int64_t i, int64_t zero_point) { list[i].integer_zero = zero_point; });
  }
  parameters.scales = dtype;
  // Absent zero points are 0 for integers of every dtype.
  parameters.zeros = zero_points != nullptr ? zero_points->scalar_type() : ScalarType::Long;
  parameters.places.data = reinterpret_cast<char*>(list);
  return list;
}

bool expect_integers(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor,
                     ScalarType dtype, int64_t quant_min, int64_t quant_max) {
  int64_t lowest = 0, highest = 0;
  return ET_EXPECT(ctx, integer_limits(dtype, &lowest, &highest),
                   "dtype must be uint8, int8, uint16, int16 or int32, found %s", name_of(dtype)) &&
         expect_dtype(ctx, name, tensor, dtype) &&
         ET_EXPECT(ctx, lowest <= quant_min && quant_max <= highest,
                   "quant_min and quant_max must be from %" PRId64 " to %" PRId64 ", found %" PRId64
                   " and %" PRId64,
                   lowest, highest, quant_min, quant_max);
}

bool expect_floating(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor) {
  return ET_EXPECT(ctx, is_floating(tensor.scalar_type()),
                   "%s must be of a floating dtype, found %s", name, name_of(tensor.scalar_type()));
}

}  // namespace executorch::kernels::quantized
