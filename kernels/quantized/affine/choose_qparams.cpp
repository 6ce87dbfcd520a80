// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Computes scales and zero points at run time from the range of the input.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/memory/dim_slices.h>
#include <executorch/kernels/quantized/NativeFunctions.h>
#include <executorch/kernels/quantized/affine/parameters.h>

#include <cmath>
#include <limits>

namespace executorch::kernels::quantized {

namespace {

using Pair = std::tuple<Tensor&, Tensor&>;

/// NaN propagates, as in torch's minimum and maximum.
struct Range {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  void take(double value) {
    min = value < min || std::isnan(value) ? value : min;
    max = value > max || std::isnan(value) ? value : max;
    if (std::isnan(value)) nan = true;
  }
  bool nan = false;
};

/// The range of n elements; in a loop that the compiler can turn into vectors.
template <class C>
void widen(Range& range, const C* from, int64_t n) {
  C min = from[0], max = from[0];
  int odd = 0;
  for (int64_t i = 0; i < n; ++i) {
    min = from[i] < min ? from[i] : min;
    max = from[i] > max ? from[i] : max;
    odd |= from[i] != from[i];
  }
  if (odd != 0) range.take(std::numeric_limits<double>::quiet_NaN());
  if (odd == 0) {
    range.take(static_cast<double>(min));
    range.take(static_cast<double>(max));
  }
}

template <class C>
Range range_of(Reader<C>& reader, const char* from, int64_t stride, int64_t n) {
  Range range;
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = n - first < kBlock ? n - first : kBlock;
    widen(range, reader(from + first * stride, stride, count), count);
  }
  if (range.nan) range.min = range.max = std::numeric_limits<double>::quiet_NaN();
  return range;
}

bool expect_limits(KernelRuntimeContext& ctx, ScalarType dtype, int64_t quant_min,
                   int64_t quant_max) {
  int64_t min = 0, max = 0;
  return ET_EXPECT(ctx, integer_limits(dtype, &min, &max),
                   "dtype must be uint8, int8, uint16, int16 or int32, found %s", name_of(dtype)) &&
         ET_EXPECT(ctx, quant_min <= 0 && quant_max >= 0 && quant_min < quant_max,
                   "quant_min and quant_max must have 0 between them, found %" PRId64
                   " and %" PRId64,
                   quant_min, quant_max);
}

bool expect_outputs(KernelRuntimeContext& ctx, const Tensor& scale, const Tensor& zero_point) {
  return expect_floating(ctx, "scale_out", scale) &&
         expect_number(ctx, "zero_point_out", zero_point);
}

struct Integers {
  int64_t quant_min, quant_max;
  ScalarType dtype;
};

/// Computes the range of a whole tensor, 0 included, and prepares the outputs.
bool whole_range(KernelRuntimeContext& ctx, const Tensor& input, const Integers& to, Tensor& scale,
                 Tensor& zero_point, Range& range) {
  if (!expect_limits(ctx, to.dtype, to.quant_min, to.quant_max) ||
      !expect_floating(ctx, "input", input) || !expect_outputs(ctx, scale, zero_point) ||
      !ET_EXPECT(ctx, input.scalar_type() != ScalarType::Double,
                 "input must be float32, float16 or bfloat16, found float64") ||
      !ET_EXPECT(ctx, input.numel() > 0, "input must have elements, found none")) {
    return false;
  }
  Shape one;
  one.append(1);
  if (!resize(ctx, scale, one) || !resize(ctx, zero_point, one)) return false;
  const Strided memory(input);
  Reader<float> reader(input.scalar_type());
  Strided lines = memory;
  if (lines.rank == 0) lines.append(1, lines.element_size());
  const int last = lines.rank - 1;
  bool nan = false;
  for_each_line(lines, lines, last, [&](char* const* at) {
    const Range part = range_of(reader, at[0], lines.strides[last], lines.sizes[last]);
    nan |= part.nan;
    range.take(part.min);
    range.take(part.max);
  });
  if (!ET_EXPECT(ctx, !nan, "input must not have NaN")) return false;
  range.take(0);
  return true;
}

void write_first(const Tensor& tensor, double value) {
  write<double>(value, static_cast<char*>(tensor.mutable_data_ptr()), tensor.scalar_type());
}

void write_first(const Tensor& tensor, int64_t value) {
  write<int64_t>(value, static_cast<char*>(tensor.mutable_data_ptr()), tensor.scalar_type());
}

/// Steps are rounded to the input's dtype until a float32 number joins.
double bounded_scale(double scale, double eps) {
  const double smallest = rounded_to(ScalarType::Float, eps);
  return scale < smallest ? smallest : scale;
}

/// Subtracts in int32, as the reference does, whose subtraction wraps for infinities and NaN.
int64_t subtract_wrapping(int64_t quant_min, double rounded) {
  const int32_t taken =
      std::isnan(rounded) ? std::numeric_limits<int32_t>::min() : cast<int32_t>(rounded);
  return static_cast<int32_t>(static_cast<uint32_t>(quant_min) - static_cast<uint32_t>(taken));
}

int64_t between(int64_t value, int64_t min, int64_t max) {
  return value < min ? min : value > max ? max : value;
}

/// In float64, because the distance of two int64 limits may exceed int64.
double steps_between(int64_t quant_min, int64_t quant_max) {
  return static_cast<double>(quant_max) - static_cast<double>(quant_min);
}

}  // namespace

Pair choose_qparams_tensor_out(KernelRuntimeContext& ctx, const Tensor& input, int64_t quant_min,
                               int64_t quant_max, double eps, ScalarType dtype, Tensor& scale_out,
                               Tensor& zero_point_out) {
  const Pair result(scale_out, zero_point_out);
  Range range;
  const Integers to{quant_min, quant_max, dtype};
  if (!whole_range(ctx, input, to, scale_out, zero_point_out, range)) return result;
  const ScalarType steps = input.scalar_type();
  const double width = rounded_to(steps, range.max - range.min);
  const double per_step = static_cast<float>(steps_between(quant_min, quant_max));
  const double scale = bounded_scale(
      rounded_to(steps, static_cast<float>(width) / static_cast<float>(per_step)), eps);
  const float descaled = static_cast<float>(range.min) / static_cast<float>(scale);
  const int64_t zero_point = subtract_wrapping(quant_min, std::nearbyint(descaled));
  write_first(scale_out, scale);
  write_first(zero_point_out, between(zero_point, quant_min, quant_max));
  return result;
}

Pair choose_qparams_symmetric_tensor_out(KernelRuntimeContext& ctx, const Tensor& input,
                                         int64_t quant_min, int64_t quant_max, double eps,
                                         ScalarType dtype, Tensor& scale_out,
                                         Tensor& zero_point_out) {
  const Pair result(scale_out, zero_point_out);
  Range range;
  const Integers to{quant_min, quant_max, dtype};
  if (!whole_range(ctx, input, to, scale_out, zero_point_out, range)) return result;
  const double max = -range.min > range.max ? -range.min : range.max;
  const double per_step = steps_between(quant_min, quant_max) / 2;
  const float scale = static_cast<float>(max) / static_cast<float>(per_step);
  write_first(scale_out, bounded_scale(rounded_to(input.scalar_type(), scale), eps));
  write_first(zero_point_out, int64_t(dtype == ScalarType::Byte ? 128 : 0));
  return result;
}

namespace {

struct Row {
  double scale, zero_point;
};

/// Calls choose(Range) for each line of the last dimension and writes its results, as [..., 1].
template <class C, class Choose>
void choose_rows_in(const Tensor& input, Tensor& scale_out, Tensor& zero_out, Choose& choose) {
  const Strided from(input), scales(scale_out), zeros(zero_out);
  const int last = from.rank - 1;
  Reader<C> reader(input.scalar_type());
  for_each_line(scales, zeros, from, last, [&](char* const* at) {
    const Range range = range_of(reader, at[2], from.strides[last], from.sizes[last]);
    const Row row = choose(range);
    write<double>(row.scale, at[0], scales.dtype);
    if (is_floating(zeros.dtype)) return write<double>(row.zero_point, at[1], zeros.dtype);
    write<int64_t>(cast<int64_t>(row.zero_point), at[1], zeros.dtype);
  });
}

template <class Choose>
void choose_rows(const Tensor& input, Tensor& scale_out, Tensor& zero_out, Choose&& choose) {
  if (input.scalar_type() == ScalarType::Double) {
    return choose_rows_in<double>(input, scale_out, zero_out, choose);
  }
  choose_rows_in<float>(input, scale_out, zero_out, choose);
}

bool expect_rows(KernelRuntimeContext& ctx, const Tensor& input, Tensor& scale_out,
                 Tensor& zero_out) {
  const int rank = static_cast<int>(input.dim());
  if (!expect_floating(ctx, "input", input) || !expect_outputs(ctx, scale_out, zero_out) ||
      !ET_EXPECT(ctx, rank > 0 && input.size(rank - 1) > 0, "rows must have elements, found %s",
                 ShapeText(input).text)) {
    return false;
  }
  Shape rows(input);
  rows.sizes[rank - 1] = 1;
  return resize(ctx, scale_out, rows) && resize(ctx, zero_out, rows);
}

}  // namespace

Pair choose_qparams_per_token_out(KernelRuntimeContext& ctx, const Tensor& input, ScalarType dtype,
                                  Tensor& scale_out, Tensor& zero_point_out) {
  const Pair result(scale_out, zero_point_out);
  if (!expect_rows(ctx, input, scale_out, zero_point_out) ||
      !ET_EXPECT(ctx, dtype == ScalarType::Char, "dtype must be int8, found %s", name_of(dtype))) {
    return result;
  }
  // Convert float16 to float32 before the division, which overflows in float16.
  const ScalarType own = input.scalar_type();
  const ScalarType steps = own == ScalarType::Half ? ScalarType::Float : own;
  const auto choose = [&](const Range& range) {
    const double max = -range.min > range.max ? -range.min : range.max;
    const double smallest = rounded_to(steps, 1e-5);
    const double size = max < smallest ? smallest : max;
    return Row{rounded_to(steps, size / 127), 0};
  };
  choose_rows(input, scale_out, zero_point_out, choose);
  return result;
}

Pair choose_qparams_per_token_asymmetric_out(KernelRuntimeContext& ctx, const Tensor& input,
                                             ScalarType, Tensor& scale_out,
                                             Tensor& zero_point_out) {
  const Pair result(scale_out, zero_point_out);
  if (!expect_rows(ctx, input, scale_out, zero_point_out)) return result;
  const ScalarType steps = input.scalar_type();
  const auto choose = [&](const Range& values) {
    constexpr double kQuantMin = -128, kQuantMax = 127;
    Range range = values;
    range.take(0);
    const double smallest = rounded_to(steps, std::numeric_limits<float>::epsilon());
    const double width = rounded_to(steps, range.max - range.min);
    const double chosen = rounded_to(steps, width / (kQuantMax - kQuantMin));
    const double scale = chosen < smallest ? smallest : chosen;
    const double low = rounded_to(steps, range.min / scale);
    const double high = rounded_to(steps, range.max / scale);
    const double from_low = rounded_to(steps, kQuantMin + low);
    const double from_high = rounded_to(steps, kQuantMax + high);
    const double zero_point = rounded_to(steps, from_low + from_high) > 0
                                  ? rounded_to(steps, kQuantMin - low)
                                  : rounded_to(steps, kQuantMax - high);
    const double bounded = zero_point < kQuantMin   ? kQuantMin
                           : zero_point > kQuantMax ? kQuantMax
                                                    : zero_point;
    return Row{scale, std::nearbyint(bounded)};
  };
  choose_rows(input, scale_out, zero_point_out, choose);
  return result;
}

}  // namespace executorch::kernels::quantized
