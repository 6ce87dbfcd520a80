// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Looks up rows of a quantized table and dequantizes them. A byte has two integers of four bits
// (the first in the high half) or four of two bits (the first in the lowest bits), each with an
// offset that makes it unsigned.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/dtype/promote.h>
#include <executorch/kernels/loops/memory/dim_slices.h>
#include <executorch/kernels/loops/memory/positions.h>
#include <executorch/kernels/quantized/NativeFunctions.h>
#include <executorch/kernels/quantized/affine/parameters.h>

namespace executorch::kernels::quantized {

namespace {

struct Table {
  const Tensor& weight;
  const Tensor& scales;
  const std::optional<Tensor>& zero_points;
  int bits;

  int64_t width() const { return weight.size(1) * (8 / bits); }
  int64_t groups() const { return scales.dim() == 2 ? scales.size(1) : 1; }
};

/// One tensor of parameters as [rows, groups].
Strided by_group(const Tensor& tensor) {
  Strided parameters(tensor);
  if (parameters.rank == 1) parameters.append(1, 0);
  return parameters;
}

bool expect_table(KernelRuntimeContext& ctx, const Table& table, int64_t quant_min,
                  int64_t quant_max) {
  const Tensor& weight = table.weight;
  const ScalarType dtype = weight.scalar_type();
  const int64_t half = int64_t(1) << (table.bits - 1);
  const auto fits = [&](const Tensor& parameters) {
    return (parameters.dim() == 1 || parameters.dim() == 2) &&
           parameters.size(0) == weight.size(0) &&
           (parameters.dim() == 1 ? 1 : parameters.size(1)) == table.groups();
  };
  return ET_EXPECT(ctx, weight.dim() == 2, "weight must have rank 2, found %d",
                   static_cast<int>(weight.dim())) &&
         ET_EXPECT(ctx, dtype == ScalarType::Byte || (table.bits == 8 && dtype == ScalarType::Char),
                   "weight must be %s, found %s", table.bits == 8 ? "int8 or uint8" : "uint8",
                   name_of(dtype)) &&
         ET_EXPECT(ctx, table.bits == 8 || (quant_min == -half && quant_max == half - 1),
                   "weight_quant_min and weight_quant_max must be %" PRId64 " and %" PRId64
                   ", found %" PRId64 " and %" PRId64,
                   -half, half - 1, quant_min, quant_max) &&
         expect_floating(ctx, "weight_scales", table.scales) &&
         ET_EXPECT(ctx, fits(table.scales),
                   "weight_scales must be [rows] or [rows, groups] of the weight %s, found %s",
                   ShapeText(weight).text, ShapeText(table.scales).text) &&
         (!table.zero_points.has_value() ||
          (expect_number(ctx, "weight_zero_points", *table.zero_points) &&
           ET_EXPECT(ctx, fits(*table.zero_points),
                     "weight_zero_points must be as weight_scales %s, found %s",
                     ShapeText(table.scales).text, ShapeText(*table.zero_points).text))) &&
         ET_EXPECT(ctx, table.groups() > 0 && table.width() % table.groups() == 0,
                   "rows of %" PRId64 " elements have no %" PRId64 " groups", table.width(),
                   table.groups());
}

void read_row(const Table& table, int64_t row, Parameters* to) {
  const Strided scales = by_group(table.scales);
  const char* const from = scales.data + row * scales.strides[0];
  for (int64_t g = 0; g < table.groups(); ++g) {
    to[g] = {read<double>(from + g * scales.strides[1], scales.dtype), 0.0, 0};
  }
  if (!table.zero_points.has_value()) return;
  const Strided zeros = by_group(*table.zero_points);
  const char* const first = zeros.data + row * zeros.strides[0];
  for (int64_t g = 0; g < table.groups(); ++g) {
    to[g].zero_point = read<double>(first + g * zeros.strides[1], zeros.dtype);
    to[g].integer_zero = read<int64_t>(first + g * zeros.strides[1], zeros.dtype);
  }
}

void unpack(const Table& table, const char* from, int64_t stride, int8_t* to) {
  const int in_a_byte = 8 / table.bits, mask = (1 << table.bits) - 1;
  const int raised = 1 << (table.bits - 1);
  for (int64_t i = 0; i < table.weight.size(1); ++i) {
    const int byte = *reinterpret_cast<const uint8_t*>(from + i * stride);
    for (int k = 0; k < in_a_byte; ++k) {
      const int place = table.bits == 4 ? in_a_byte - 1 - k : k;
      to[i * in_a_byte + k] = static_cast<int8_t>(((byte >> (place * table.bits)) & mask) - raised);
    }
  }
}

/// [groups, elements of a group] of one row.
Strided as_groups(char* data, ScalarType dtype, int64_t groups, int64_t size, int64_t stride) {
  Strided grouped;
  grouped.data = data;
  grouped.dtype = dtype;
  grouped.append(groups, size * stride);
  grouped.append(size, stride);
  return grouped;
}

Tensor& look_up(KernelRuntimeContext& ctx, const Table& table, int64_t quant_min, int64_t quant_max,
                const Tensor& indices, std::optional<ScalarType> dtype, Tensor& out) {
  if (!expect_table(ctx, table, quant_min, quant_max) ||
      !expect_index_dtype(ctx, "indices", indices) || !expect_floating(ctx, "out", out) ||
      !expect_dtype(ctx, "out", out, dtype.value_or(table.scales.scalar_type())) ||
      !ET_EXPECT(ctx, indices.dim() < kMaxRank, "indices have the highest rank already, %d",
                 kMaxRank)) {
    return out;
  }
  const int64_t width = table.width(), groups = table.groups(), size = width / groups;
  Shape shape(indices);
  shape.append(width);
  if (!resize(ctx, out, shape) || out.numel() == 0) return out;
  auto* const row = allocate<Parameters>(ctx, groups);
  auto* const whole = allocate<int8_t>(ctx, width);
  if (row == nullptr || whole == nullptr) return out;

  const Strided to(out), where(indices), weight(table.weight);
  const bool is_packed = table.bits < 8;
  ParameterPlaces places{
      as_groups(reinterpret_cast<char*>(row), weight.dtype, groups, size, 0),
      table.scales.scalar_type(),
      table.zero_points.has_value() ? table.zero_points->scalar_type() : ScalarType::Long};
  places.places.strides[0] = sizeof(Parameters);
  const ScalarType computed =
      places.has_integer_zeros() ? places.scales : promote(places.scales, places.zeros);
  Strided lines = where;
  lines.append(1, 0);
  const int last = to.rank - 1;
  for_each_line(to, lines, last, [&](char* const* at) {
    const int64_t index = read<int64_t>(at[1], where.dtype);
    if (ctx.failure_state() != Error::Ok || !expect_within(ctx, index, weight.sizes[0])) return;
    char* const from = weight.data + index * weight.strides[0];
    read_row(table, index, row);
    Strided integers = as_groups(from, weight.dtype, groups, size, weight.strides[1]);
    if (is_packed) {
      unpack(table, from, weight.strides[1], whole);
      integers = as_groups(reinterpret_cast<char*>(whole), ScalarType::Char, groups, size, 1);
    }
    dequantize(as_groups(at[0], to.dtype, groups, size, to.strides[last]), integers, places,
               computed);
  });
  return out;
}

}  // namespace

Tensor& embedding_byte_out(KernelRuntimeContext& ctx, const Tensor& weight, const Tensor& scales,
                           const std::optional<Tensor>& zero_points, int64_t quant_min,
                           int64_t quant_max, const Tensor& indices, Tensor& out) {
  return look_up(ctx, {weight, scales, zero_points, 8}, quant_min, quant_max, indices, std::nullopt,
                 out);
}

Tensor& embedding_byte_dtype_out(KernelRuntimeContext& ctx, const Tensor& weight,
                                 const Tensor& scales, const std::optional<Tensor>& zero_points,
                                 int64_t quant_min, int64_t quant_max, const Tensor& indices,
                                 std::optional<ScalarType> dtype, Tensor& out) {
  return look_up(ctx, {weight, scales, zero_points, 8}, quant_min, quant_max, indices, dtype, out);
}

Tensor& embedding_4bit_out(KernelRuntimeContext& ctx, const Tensor& weight, const Tensor& scales,
                           const std::optional<Tensor>& zero_points, int64_t quant_min,
                           int64_t quant_max, const Tensor& indices, Tensor& out) {
  return look_up(ctx, {weight, scales, zero_points, 4}, quant_min, quant_max, indices, std::nullopt,
                 out);
}

Tensor& embedding_4bit_dtype_out(KernelRuntimeContext& ctx, const Tensor& weight,
                                 const Tensor& scales, const std::optional<Tensor>& zero_points,
                                 int64_t quant_min, int64_t quant_max, const Tensor& indices,
                                 std::optional<ScalarType> dtype, Tensor& out) {
  return look_up(ctx, {weight, scales, zero_points, 4}, quant_min, quant_max, indices, dtype, out);
}

Tensor& embedding_2bit_out(KernelRuntimeContext& ctx, const Tensor& weight, const Tensor& scales,
                           const std::optional<Tensor>& zero_points, int64_t quant_min,
                           int64_t quant_max, const Tensor& indices, Tensor& out) {
  return look_up(ctx, {weight, scales, zero_points, 2}, quant_min, quant_max, indices, std::nullopt,
                 out);
}

Tensor& embedding_2bit_dtype_out(KernelRuntimeContext& ctx, const Tensor& weight,
                                 const Tensor& scales, const std::optional<Tensor>& zero_points,
                                 int64_t quant_min, int64_t quant_max, const Tensor& indices,
                                 std::optional<ScalarType> dtype, Tensor& out) {
  return look_up(ctx, {weight, scales, zero_points, 2}, quant_min, quant_max, indices, dtype, out);
}

}  // namespace executorch::kernels::quantized
