// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Range checks of numbers that are converted to a dtype.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/dtype/number.h>
#include <executorch/kernels/loops/memory/check.h>

#include <cmath>

namespace executorch::kernels {
namespace {

double largest_float(ScalarType dtype) {
  if (is_selected(ScalarType::Half, ScalarType::ComplexHalf) && dtype == ScalarType::Half) {
    return 65504.0;
  }
  if (is_selected(ScalarType::BFloat16) && dtype == ScalarType::BFloat16) return 0x1.FEp127;
  const bool is_double =
      is_selected(ScalarType::Double, ScalarType::ComplexDouble) && dtype == ScalarType::Double;
  return is_double ? HUGE_VAL : 0x1.FFFFFEp127;
}

[[maybe_unused]] bool fits_integer(const Scalar& number, ScalarType dtype) {
  const bool positive_only = is_unsigned(dtype);
  const int bits = int(8 * width_of(dtype)) - (positive_only ? 0 : 1);
  if (number.isFloatingPoint()) {
    const double value = as_double(number), end = std::ldexp(1.0, bits);
    // As a double, the largest 64-bit integer rounds to the first too large one; ATen accepts it.
    const double largest = bits < 63 ? end - 1 : end;
    return value >= (positive_only ? 0 : -end) && value <= largest;
  }
  const int64_t value = as_int(number);
  if (bits >= 63) return true;
  const int64_t largest = (int64_t(1) << bits) - 1;
  return value <= largest && value >= (positive_only ? -largest : -largest - 1);
}

}  // namespace

bool fits(const Scalar& number, ScalarType dtype) {
  const ScalarType part = has_complex ? part_dtype(dtype) : dtype;
  if constexpr (is_computed<int64_t>) {
    if (part == ScalarType::Bool || width_of(part) == 0) return true;
    if (!is_floating(part)) return fits_integer(number, part);
  }
  const double value = as_double(number);
  return std::isinf(value) || !(std::fabs(value) > largest_float(part));
}

bool expect_fits(KernelRuntimeContext& ctx, const char* name, const Scalar& number,
                 ScalarType dtype) {
  return ET_EXPECT(ctx, fits(number, dtype), "%s must fit %s, found %.17g", name, name_of(dtype),
                   as_double(number));
}

bool expect_item_fits(KernelRuntimeContext& ctx, const char* name, const Tensor& item,
                      ScalarType dtype) {
  const ScalarType from = item.scalar_type();
  if (is_complex(from)) {
    return ET_EXPECT(ctx, is_complex(dtype), "%s of dtype %s cannot be converted to %s", name,
                     name_of(from), name_of(dtype));
  }
  const auto* const data = static_cast<const char*>(item.const_data_ptr());
  return expect_fits(
      ctx, name,
      is_floating(from) ? Scalar(read<double>(data, from)) : Scalar(read<int64_t>(data, from)),
      dtype);
}

bool expect_fill(KernelRuntimeContext& ctx, const char* name, const Scalar& number,
                 const Tensor& out) {
  const ScalarType dtype = out.scalar_type();
  return (opmath_dtype(dtype) != dtype && out.numel() == 1) ||
         expect_fits(ctx, name, number, dtype);
}

}  // namespace executorch::kernels
