// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Quantizes and dequantizes, with parameters for a tensor, for each channel, for each row ("token")
// and for groups of each row.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/dtype/promote.h>
#include <executorch/kernels/quantized/NativeFunctions.h>
#include <executorch/kernels/quantized/affine/parameters.h>

namespace executorch::kernels::quantized {

namespace {

/// One set of parameters, which must outlive the places.
ParameterPlaces everywhere(const Tensor& like, Parameters& one, ScalarType scales,
                           ScalarType zeros) {
  ParameterPlaces repeated{Strided(like), scales, zeros};
  repeated.places.data = reinterpret_cast<char*>(&one);
  for (int d = 0; d < repeated.places.rank; ++d) repeated.places.strides[d] = 0;
  return repeated;
}

/// The element of a tensor that has only one.
template <class C>
bool expect_one(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor, C* value) {
  if (!expect_number(ctx, name, tensor) ||
      !ET_EXPECT(ctx, tensor.numel() == 1, "%s must have one element, found %s", name,
                 ShapeText(tensor).text)) {
    return false;
  }
  *value = read<C>(static_cast<const char*>(tensor.const_data_ptr()), tensor.scalar_type());
  return true;
}

Tensor& quantize_tensor(KernelRuntimeContext& ctx, const Tensor& input, double scale,
                        int64_t zero_point, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                        Tensor& out) {
  if (!expect_floating(ctx, "input", input) ||
      !ET_EXPECT(ctx, input.scalar_type() != ScalarType::Double,
                 "input must be float32, float16 or bfloat16, found float64") ||
      !expect_integers(ctx, "out", out, dtype, quant_min, quant_max) ||
      !ET_EXPECT(ctx, scale != 0, "scale must not be 0") || !resize_like(ctx, out, input)) {
    return out;
  }
  // As in the reference, 16-bit floats and scalars from Python are rounded to float32 first.
  Parameters one{rounded_to(ScalarType::Float, 1.0 / scale),
                 rounded_to(ScalarType::Float, static_cast<double>(zero_point)), zero_point};
  const ParameterPlaces places = everywhere(input, one, ScalarType::Float, ScalarType::Long);
  quantize(Strided(out), Strided(input), places, Added::AfterRounding, quant_min, quant_max);
  return out;
}

Tensor& dequantize_tensor(KernelRuntimeContext& ctx, const Tensor& input, double scale,
                          int64_t zero_point, ScalarType dtype, std::optional<ScalarType> out_dtype,
                          Tensor& out) {
  const ScalarType wanted = out_dtype.value_or(ScalarType::Float);
  if (!expect_integers(ctx, "input", input, dtype, 0, 0) || !expect_floating(ctx, "out", out) ||
      !expect_dtype(ctx, "out", out, wanted) || !resize_like(ctx, out, input)) {
    return out;
  }
  // Computes in the result's dtype from the start: a Python number has that dtype when something is
  // subtracted from it, and at least float32 when it is a factor.
  const ScalarType numbers = wanted == ScalarType::Double ? wanted : ScalarType::Float;
  const double zero = rounded_to(numbers, static_cast<double>(zero_point));
  Parameters one{rounded_to(numbers, scale), rounded_to(wanted, zero), zero_point};
  dequantize(Strided(out), Strided(input), everywhere(input, one, numbers, wanted), wanted);
  return out;
}

/// Parameters of an axis, places given strides: 0 but along it.
bool along(KernelRuntimeContext& ctx, const Tensor& tensor, int64_t axis, const Tensor& scales,
           const Tensor* zero_points, Towards towards, ParameterPlaces& parameters) {
  int dim = 0;
  if (!expect_dim(ctx, axis, static_cast<int>(tensor.dim()), &dim)) return false;
  const int64_t channels = tensor.dim() == 0 ? 1 : tensor.size(dim);
  if (!ET_EXPECT(ctx, scales.numel() == channels,
                 "scales must have one element for each of %" PRId64 " channels, found %s",
                 channels, ShapeText(scales).text)) {
    return false;
  }
  parameters.places = Strided(tensor);
  if (read_parameters(ctx, scales, zero_points, towards, parameters) == nullptr) return false;
  for (int d = 0; d < parameters.places.rank; ++d) {
    parameters.places.strides[d] = d == dim ? static_cast<int64_t>(sizeof(Parameters)) : 0;
  }
  return true;
}

/// Parameters of each row of the last dimension.
bool by_row(KernelRuntimeContext& ctx, const Tensor& tensor, const Tensor& scales,
            const Tensor* zero_points, Towards towards, ParameterPlaces& parameters) {
  const int last = static_cast<int>(tensor.dim()) - 1;
  if (!ET_EXPECT(ctx, last >= 0,
                 "per-token parameters need a tensor of rank 1 or more, found rank 0"))
    return false;
  Shape rows(tensor);
  rows.remove(last);
  if (!ET_EXPECT(ctx, scales.numel() == rows.numel(),
                 "scales must have one element for each of %" PRId64 " rows, found %s",
                 rows.numel(), ShapeText(scales).text)) {
    return false;
  }
  parameters.places = Strided(tensor);
  if (read_parameters(ctx, scales, zero_points, towards, parameters) == nullptr) return false;
  int64_t stride = sizeof(Parameters);
  parameters.places.strides[last] = 0;
  for (int d = last - 1; d >= 0; --d) {
    parameters.places.strides[d] = stride;
    stride *= parameters.places.sizes[d];
  }
  return true;
}

/// A matrix as [rows, groups of a row, elements of a group].
Strided grouped(const Tensor& matrix, int64_t group_size) {
  Strided groups(matrix);
  groups.append(group_size, groups.strides[1]);
  groups.sizes[1] /= group_size;
  groups.strides[1] *= group_size;
  return groups;
}

bool by_group(KernelRuntimeContext& ctx, const Tensor& tensor, int64_t* group_size,
              const Tensor& scales, const Tensor* zero_points, Towards towards,
              ParameterPlaces& parameters) {
  if (!ET_EXPECT(ctx, tensor.dim() == 2, "input must have rank 2, found %d",
                 static_cast<int>(tensor.dim()))) {
    return false;
  }
  const int64_t rows = tensor.size(0), width = tensor.size(1);
  // One column of scales may stand for a row that is shorter than a group.
  if (*group_size > width && scales.dim() > 0 && scales.size(scales.dim() - 1) == 1) {
    *group_size = width;
  }
  if (!ET_EXPECT(ctx, *group_size > 1, "group_size must be more than 1, found %" PRId64,
                 *group_size) ||
      !ET_EXPECT(ctx, width % *group_size == 0,
                 "rows of %" PRId64 " elements cannot be divided into groups of %" PRId64, width,
                 *group_size) ||
      !ET_EXPECT(ctx, scales.numel() == rows * (width / *group_size),
                 "scales must have one element for each of %" PRId64 " groups, found %s",
                 rows * (width / *group_size), ShapeText(scales).text)) {
    return false;
  }
  // Every group_size divides an empty row; one of 2^62 would overflow the stride of a group.
  if (width == 0) *group_size = 1;
  parameters.places = grouped(tensor, *group_size);
  if (read_parameters(ctx, scales, zero_points, towards, parameters) == nullptr) return false;
  parameters.places.strides[0] = static_cast<int64_t>(sizeof(Parameters)) * (width / *group_size);
  parameters.places.strides[1] = sizeof(Parameters);
  parameters.places.strides[2] = 0;
  return true;
}

const Tensor* given(const std::optional<Tensor>& tensor) {
  return tensor.has_value() ? &*tensor : nullptr;
}

/// The dtype of the product of scales and the differences from zero points.
ScalarType product_dtype(const ParameterPlaces& parameters) {
  return parameters.has_integer_zeros() ? parameters.scales
                                        : promote(parameters.scales, parameters.zeros);
}

}  // namespace

Tensor& quantize_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& input, double scale,
                                int64_t zero_point, int64_t quant_min, int64_t quant_max,
                                ScalarType dtype, Tensor& out) {
  return quantize_tensor(ctx, input, scale, zero_point, quant_min, quant_max, dtype, out);
}

Tensor& quantize_per_tensor_tensor_out(KernelRuntimeContext& ctx, const Tensor& input,
                                       const Tensor& scale, const Tensor& zero_point,
                                       int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                       Tensor& out) {
  double real = 0;
  int64_t zero = 0;
  if (!expect_one(ctx, "scale", scale, &real) || !expect_one(ctx, "zero_point", zero_point, &zero))
    return out;
  return quantize_tensor(ctx, input, real, zero, quant_min, quant_max, dtype, out);
}

Tensor& quantize_per_tensor_tensor2_out(KernelRuntimeContext& ctx, const Tensor& input,
                                        const Tensor& scale, const Tensor& zero_point,
                                        const Tensor& quant_min, const Tensor& quant_max,
                                        ScalarType dtype, Tensor& out) {
  int64_t minimum = 0, maximum = 0;
  if (!expect_one(ctx, "quant_min", quant_min, &minimum) ||
      !expect_one(ctx, "quant_max", quant_max, &maximum)) {
    return out;
  }
  return quantize_per_tensor_tensor_out(ctx, input, scale, zero_point, minimum, maximum, dtype,
                                        out);
}

Tensor& dequantize_per_tensor_out(KernelRuntimeContext& ctx, const Tensor& input, double scale,
                                  int64_t zero_point, int64_t, int64_t, ScalarType dtype,
                                  std::optional<ScalarType> out_dtype, Tensor& out) {
  return dequantize_tensor(ctx, input, scale, zero_point, dtype, out_dtype, out);
}

Tensor& dequantize_per_tensor_tensor_out(KernelRuntimeContext& ctx, const Tensor& input,
                                         const Tensor& scale, const Tensor& zero_point, int64_t,
                                         int64_t, ScalarType dtype,
                                         std::optional<ScalarType> out_dtype, Tensor& out) {
  double real = 0;
  int64_t zero = 0;
  if (!expect_one(ctx, "scale", scale, &real) || !expect_one(ctx, "zero_point", zero_point, &zero))
    return out;
  return dequantize_tensor(ctx, input, real, zero, dtype, out_dtype, out);
}

Tensor& dequantize_per_tensor_tensor2_out(KernelRuntimeContext& ctx, const Tensor& input,
                                          const Tensor& scale, const Tensor& zero_point,
                                          const Tensor&, const Tensor&, ScalarType dtype,
                                          std::optional<ScalarType> out_dtype, Tensor& out) {
  return dequantize_per_tensor_tensor_out(ctx, input, scale, zero_point, 0, 0, dtype, out_dtype,
                                          out);
}

Tensor& quantize_per_channel_out(KernelRuntimeContext& ctx, const Tensor& input,
                                 const Tensor& scales, const Tensor& zero_points, int64_t axis,
                                 int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                 Tensor& out) {
  ParameterPlaces places;
  if (!expect_floating(ctx, "input", input) ||
      !ET_EXPECT(ctx, input.scalar_type() != ScalarType::Double,
                 "input must be float32, float16 or bfloat16, found float64") ||
      !expect_integers(ctx, "out", out, dtype, quant_min, quant_max) ||
      !resize_like(ctx, out, input) ||
      !along(ctx, input, axis, scales, &zero_points, Towards::Integers, places)) {
    return out;
  }
  // Numbers of 16 bits are float32 before they meet a scale.
  places.scales = promote(places.scales, ScalarType::Float);
  quantize(Strided(out), Strided(input), places, Added::AfterRounding, quant_min, quant_max);
  return out;
}

Tensor& dequantize_per_channel_out(KernelRuntimeContext& ctx, const Tensor& input,
                                   const Tensor& scales, const std::optional<Tensor>& zero_points,
                                   int64_t axis, int64_t quant_min, int64_t quant_max,
                                   ScalarType dtype, std::optional<ScalarType> out_dtype,
                                   Tensor& out) {
  ParameterPlaces places;
  if (!expect_integers(ctx, "input", input, dtype, quant_min, quant_max) ||
      !expect_floating(ctx, "out", out) ||
      !expect_dtype(ctx, "out", out, out_dtype.value_or(ScalarType::Float)) ||
      !resize_like(ctx, out, input) ||
      !along(ctx, input, axis, scales, given(zero_points), Towards::Numbers, places)) {
    return out;
  }
  dequantize(Strided(out), Strided(input), places, product_dtype(places));
  return out;
}

Tensor& quantize_per_token_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& scales,
                               const Tensor& zero_points, int64_t quant_min, int64_t quant_max,
                               ScalarType dtype, Tensor& out) {
  ParameterPlaces places;
  if (!expect_floating(ctx, "input", input) ||
      !expect_integers(ctx, "out", out, dtype, quant_min, quant_max) ||
      !resize_like(ctx, out, input) ||
      !by_row(ctx, input, scales, &zero_points, Towards::Integers, places)) {
    return out;
  }
  quantize(Strided(out), Strided(input), places, Added::BeforeRounding, quant_min, quant_max);
  return out;
}

Tensor& dequantize_per_token_out(KernelRuntimeContext& ctx, const Tensor& input,
                                 const Tensor& scales, const Tensor& zero_points, int64_t quant_min,
                                 int64_t quant_max, ScalarType dtype, ScalarType output_dtype,
                                 Tensor& out) {
  ParameterPlaces places;
  if (!expect_integers(ctx, "input", input, dtype, quant_min, quant_max) ||
      !expect_floating(ctx, "out", out) || !expect_dtype(ctx, "out", out, output_dtype) ||
      !resize_like(ctx, out, input) ||
      !by_row(ctx, input, scales, &zero_points, Towards::Numbers, places)) {
    return out;
  }
  dequantize(Strided(out), Strided(input), places, product_dtype(places));
  return out;
}

Tensor& quantize_per_channel_group_out(KernelRuntimeContext& ctx, const Tensor& input,
                                       const Tensor& scales, const Tensor& zero_points,
                                       int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                       int64_t group_size, Tensor& out) {
  ParameterPlaces places;
  if (!expect_floating(ctx, "input", input) ||
      !expect_integers(ctx, "out", out, dtype, quant_min, quant_max) ||
      !resize_like(ctx, out, input) ||
      !by_group(ctx, input, &group_size, scales, &zero_points, Towards::Integers, places)) {
    return out;
  }
  quantize(grouped(out, group_size), grouped(input, group_size), places, Added::BeforeRounding,
           quant_min, quant_max);
  return out;
}

Tensor& dequantize_per_channel_group_out(KernelRuntimeContext& ctx, const Tensor& input,
                                         const Tensor& scales,
                                         const std::optional<Tensor>& zero_points,
                                         int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                         int64_t group_size, ScalarType output_dtype, Tensor& out) {
  ParameterPlaces places;
  if (!expect_integers(ctx, "input", input, dtype, quant_min, quant_max) ||
      !expect_floating(ctx, "out", out) || !expect_dtype(ctx, "out", out, output_dtype) ||
      !resize_like(ctx, out, input) ||
      !by_group(ctx, input, &group_size, scales, given(zero_points), Towards::Numbers, places)) {
    return out;
  }
  dequantize(grouped(out, group_size), grouped(input, group_size), places, product_dtype(places));
  return out;
}

}  // namespace executorch::kernels::quantized
