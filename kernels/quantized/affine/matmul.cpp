// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Matrix products of floats with quantized weights.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/quantized/NativeFunctions.h>
#include <executorch/kernels/quantized/affine/parameters.h>

namespace executorch::kernels::quantized {

namespace {

/// Rows of an int8 matrix, with quantization parameters by row and group.
struct Integers {
  Strided values, scales, zeros;
  bool has_zeros;
  int64_t group;

  // Dequantizes a row: (integer - zero point) * scale.
  void read_row(int64_t row, float* to) const {
    for (int64_t k = 0; k < values.sizes[1]; ++k) {
      const char* const at = values.data + row * values.strides[0] + k * values.strides[1];
      const float integer = *reinterpret_cast<const int8_t*>(at);
      const float zero_point = has_zeros ? parameter(zeros, row, k) : 0.0f;
      to[k] = (integer - zero_point) * parameter(scales, row, k);
    }
  }

 private:
  float parameter(const Strided& of, int64_t row, int64_t k) const {
    return read<float>(of.data + row * of.strides[0] + (k / group) * of.strides[1], of.dtype);
  }
};

Strided two_dimensions(const Tensor& tensor) {
  Strided matrix(tensor);
  if (matrix.rank == 1) matrix.append(1, 0);
  return matrix;
}

bool expect_matrix(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                   const Tensor& scales, const std::optional<Tensor>& zero_points) {
  const auto fits = [&](const Tensor& parameters) {
    return (parameters.dim() == 1 || parameters.dim() == 2) && parameters.size(0) == weight.size(0);
  };
  return expect_floating(ctx, "input", input) && expect_floating(ctx, "weight_scales", scales) &&
         expect_dtype(ctx, "weight", weight, ScalarType::Char) &&
         ET_EXPECT(ctx, weight.dim() == 2 && input.dim() == 2,
                   "input and weight must have rank 2, found %s and %s", ShapeText(input).text,
                   ShapeText(weight).text) &&
         ET_EXPECT(ctx, fits(scales) && (scales.dim() == 1 || scales.size(1) > 0),
                   "weight_scales must be [rows] or [rows, groups] of the weight %s, found %s",
                   ShapeText(weight).text, ShapeText(scales).text) &&
         (!zero_points.has_value() ||
          (expect_number(ctx, "weight_zero_points", *zero_points) &&
           ET_EXPECT(ctx, Shape(*zero_points) == Shape(scales),
                     "weight_zero_points must be as weight_scales %s, found %s",
                     ShapeText(scales).text, ShapeText(*zero_points).text)));
}

Integers integers_of(const Tensor& weight, const Tensor& scales,
                     const std::optional<Tensor>& zero_points) {
  Integers integers{Strided(weight), two_dimensions(scales), {}, zero_points.has_value(), 1};
  if (integers.has_zeros) integers.zeros = two_dimensions(*zero_points);
  const int64_t groups = integers.scales.sizes[1];
  integers.group = (weight.size(1) + groups - 1) / groups;
  integers.group = integers.group > 0 ? integers.group : 1;
  return integers;
}

/// Number of partial sums, so that the compiler can vectorize the sum.
float dot(const float* a, const float* b, int64_t n) {
  constexpr int64_t kLanes = 16;
  float sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) sums[k] += a[i + k] * b[i + k];
  }
  float sum = 0;
  for (; i < n; ++i) sum += a[i] * b[i];
  for (const float partial : sums) sum += partial;
  return sum;
}

/// Converts a row of a matrix to float32.
void read_numbers(const Strided& matrix, int64_t row, float* to) {
  const Convert convert = load(matrix.dtype, Compute::Float);
  convert(reinterpret_cast<char*>(to), sizeof(float), matrix.data + row * matrix.strides[0],
          matrix.strides[1], matrix.sizes[1]);
}

bool make_room(KernelRuntimeContext& ctx, Tensor& out, ScalarType dtype, int64_t rows,
               int64_t columns) {
  Shape shape;
  shape.append(rows);
  shape.append(columns);
  return expect_dtype(ctx, "out", out, dtype) && resize(ctx, out, shape);
}

}  // namespace

/// out[m, n] = Σk input[m, k] * weight[n, k]; scales of each n, or of groups of k for each n.
Tensor& mixed_linear_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                         const Tensor& scales, const std::optional<Tensor>& zero_points,
                         std::optional<ScalarType> dtype, Tensor& out) {
  if (!expect_matrix(ctx, input, weight, scales, zero_points) ||
      !ET_EXPECT(ctx, input.size(1) == weight.size(1),
                 "rows of input %s and of weight %s must be as long", ShapeText(input).text,
                 ShapeText(weight).text) ||
      !make_room(ctx, out, dtype.value_or(input.scalar_type()), input.size(0), weight.size(0)) ||
      out.numel() == 0) {
    return out;
  }
  const Strided from(input), to(out);
  const Integers integers = integers_of(weight, scales, zero_points);
  const int64_t depth = from.sizes[1];
  auto* const row = allocate<float>(ctx, depth);
  auto* const numbers = allocate<float>(ctx, depth * from.sizes[0]);
  if (row == nullptr || numbers == nullptr) return out;
  for (int64_t m = 0; m < from.sizes[0]; ++m) read_numbers(from, m, numbers + m * depth);
  for (int64_t n = 0; n < to.sizes[1]; ++n) {
    integers.read_row(n, row);
    for (int64_t m = 0; m < to.sizes[0]; ++m) {
      write<float>(dot(numbers + m * depth, row, depth),
                   to.data + m * to.strides[0] + n * to.strides[1], to.dtype);
    }
  }
  return out;
}

/// out[m, n] = Σk input[m, k] * weight[k, n]; scales of each k, or of groups of n for each k.
Tensor& mixed_mm_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                     const Tensor& scales, const std::optional<Tensor>& zero_points, Tensor& out) {
  if (!expect_matrix(ctx, input, weight, scales, zero_points) ||
      !ET_EXPECT(ctx, input.size(1) == weight.size(0),
                 "input %s and weight %s cannot be multiplied", ShapeText(input).text,
                 ShapeText(weight).text) ||
      !make_room(ctx, out, input.scalar_type(), input.size(0), weight.size(1)) ||
      out.numel() == 0) {
    return out;
  }
  const Strided from(input), to(out);
  const Integers integers = integers_of(weight, scales, zero_points);
  const int64_t depth = from.sizes[1], width = to.sizes[1];
  auto* const row = allocate<float>(ctx, width);
  auto* const sums = allocate<float>(ctx, width * to.sizes[0]);
  if (row == nullptr || sums == nullptr) return out;
  for (int64_t i = 0; i < width * to.sizes[0]; ++i) sums[i] = 0;
  for (int64_t k = 0; k < depth; ++k) {
    integers.read_row(k, row);
    for (int64_t m = 0; m < to.sizes[0]; ++m) {
      const char* const at = from.data + m * from.strides[0] + k * from.strides[1];
      const float x = read<float>(at, from.dtype);
      for (int64_t n = 0; n < width; ++n) sums[m * width + n] += x * row[n];
    }
  }
  const Convert convert = store(Compute::Float, to.dtype);
  for (int64_t m = 0; m < to.sizes[0]; ++m) {
    convert(to.data + m * to.strides[0], to.strides[1],
            reinterpret_cast<const char*>(sums + m * width), sizeof(float), width);
  }
  return out;
}

}  // namespace executorch::kernels::quantized
