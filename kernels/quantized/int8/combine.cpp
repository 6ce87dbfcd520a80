// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Adds, subtracts and multiplies two quantized tensors: the same bits as dequantize, compute,
// quantize.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/loops/memory/broadcast.h>
#include <executorch/kernels/loops/memory/divide.h>
#include <executorch/kernels/loops/memory/loop_nest.h>
#include <executorch/kernels/quantized/NativeFunctions.h>
#include <executorch/kernels/quantized/affine/parameters.h>

#include <cmath>

namespace executorch::kernels::quantized {

namespace {

struct Affine {
  float scale, zero_point;

  Affine(double s, int64_t z) : scale(static_cast<float>(s)), zero_point(static_cast<float>(z)) {}
  float number(float integer) const { return (integer - zero_point) * scale; }
};

/// A tensor of integers with its quantization parameters.
struct Operand {
  const Tensor& tensor;
  double scale;
  int64_t zero_point, quant_min, quant_max;

  bool expect(KernelRuntimeContext& ctx, const char* name) const {
    return expect_integers(ctx, name, tensor, tensor.scalar_type(), quant_min, quant_max);
  }
};

struct Result {
  float inverse, zero_point, quant_min, quant_max;

  explicit Result(const Operand& out)
      : inverse(static_cast<float>(1.0 / out.scale)),
        zero_point(static_cast<float>(out.zero_point)),
        quant_min(static_cast<float>(out.quant_min)),
        quant_max(static_cast<float>(out.quant_max)) {}
  float integer(float number) const {
    const float rounded = std::nearbyint(number * inverse) + zero_point;
    return rounded < quant_min ? quant_min : rounded > quant_max ? quant_max : rounded;
  }
};

struct Sum {
  static float of(float a, float b) { return a + b; }
};
struct Difference {
  static float of(float a, float b) { return a - b; }
};
struct Product {
  static float of(float a, float b) { return a * b; }
};

template <class Computed>
void combine_rows(const LoopNest& nest, const Operand& a, const Operand& b, const Operand& out) {
  const Affine left(a.scale, a.zero_point), right(b.scale, b.zero_point);
  const Result result(out);
  Reader<float> read_left(a.tensor.scalar_type()), read_right(b.tensor.scalar_type());
  const Convert convert = store(Compute::Float, out.tensor.scalar_type());
  float results[kBlock];
  nest.for_each_row([&](char* const* at) {
    for (int64_t first = 0; first < nest.row(); first += kBlock) {
      const int64_t count = nest.row() - first < kBlock ? nest.row() - first : kBlock;
      const float* const x = read_left(at[1] + first * nest.stride(1), nest.stride(1), count);
      const float* const y = read_right(at[2] + first * nest.stride(2), nest.stride(2), count);
      in_vectors(
          [](float* to, const float* p, const float* q, Affine l, Affine r, Result res, int64_t n) {
            for (int64_t i = 0; i < n; ++i) {
              to[i] = res.integer(Computed::of(l.number(p[i]), r.number(q[i])));
            }
          },
          +results, x, y, left, right, result, count);
      convert(at[0] + first * nest.stride(0), nest.stride(0),
              reinterpret_cast<const char*>(results), sizeof(float), count);
    }
  });
}

template <class Computed>
Tensor& combine(KernelRuntimeContext& ctx, const Operand& a, const Operand& b, const Operand& to,
                Tensor& out) {
  Shape shape(a.tensor);
  if (!a.expect(ctx, "a") || !b.expect(ctx, "b") || !to.expect(ctx, "out") ||
      !ET_EXPECT(ctx, to.scale != 0, "out_scale must not be 0") ||
      !expect_broadcast(ctx, shape, Shape(b.tensor)) || !resize(ctx, out, shape)) {
    return out;
  }
  const LoopNest nest(Strided(out), expanded(Strided(a.tensor), shape),
                      expanded(Strided(b.tensor), shape));
  if (nest.empty()) return out;
  NestDivision(nest, kBlock, out.numel()).run([&](int64_t, const LoopNest& part) {
    combine_rows<Computed>(part, a, b, to);
  });
  return out;
}

}  // namespace

Tensor& add_out(KernelRuntimeContext& ctx, const Tensor& a, double a_scale, int64_t a_zero,
                int64_t a_min, int64_t a_max, const Tensor& b, double b_scale, int64_t b_zero,
                int64_t b_min, int64_t b_max, double out_scale, int64_t out_zero, int64_t out_min,
                int64_t out_max, Tensor& out) {
  return combine<Sum>(ctx, {a, a_scale, a_zero, a_min, a_max}, {b, b_scale, b_zero, b_min, b_max},
                      {out, out_scale, out_zero, out_min, out_max}, out);
}

Tensor& sub_out(KernelRuntimeContext& ctx, const Tensor& a, double a_scale, int64_t a_zero,
                int64_t a_min, int64_t a_max, const Tensor& b, double b_scale, int64_t b_zero,
                int64_t b_min, int64_t b_max, double out_scale, int64_t out_zero, int64_t out_min,
                int64_t out_max, Tensor& out) {
  return combine<Difference>(ctx, {a, a_scale, a_zero, a_min, a_max},
                             {b, b_scale, b_zero, b_min, b_max},
                             {out, out_scale, out_zero, out_min, out_max}, out);
}

Tensor& mul_out(KernelRuntimeContext& ctx, const Tensor& a, double a_scale, int64_t a_zero,
                int64_t a_min, int64_t a_max, const Tensor& b, double b_scale, int64_t b_zero,
                int64_t b_min, int64_t b_max, double out_scale, int64_t out_zero, int64_t out_min,
                int64_t out_max, Tensor& out) {
  return combine<Product>(ctx, {a, a_scale, a_zero, a_min, a_max},
                          {b, b_scale, b_zero, b_min, b_max},
                          {out, out_scale, out_zero, out_min, out_max}, out);
}

}  // namespace executorch::kernels::quantized
