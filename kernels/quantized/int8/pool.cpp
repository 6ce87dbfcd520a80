// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Maxima and means of int8. Sums are of float32, and exact: windows have less than 2^16 elements.
#include <executorch/kernels/loops/memory/divide.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/loops/memory/loop_nest.h>
#include <executorch/kernels/portable/normalize/region.h>
#include <executorch/kernels/portable/pool/geometry.h>
#include <executorch/kernels/portable/spatial/window_rows.h>
#include <executorch/kernels/quantized/NativeFunctions.h>
#include <executorch/kernels/quantized/int8/operands.h>
#include <executorch/kernels/quantized/int8/rounding.h>

namespace executorch::kernels::quantized {

using namespace portable;

namespace {

constexpr int64_t kMaxElements = 1 << 16;

struct Maxima {
  const WindowLoops& loops;
  const Plane& out;
  const Convert store_row = store(Compute::Float, ScalarType::Char);
  float best[kBlock] = {};

  void begin(int64_t n) { std::fill_n(best, n, -128.0f); }
  void tap(const TapRow<float>& row) {
    float* const to = best + row.at;
    for (int64_t q = 0; q < row.n; ++q) {
      const float value = row.values[q * row.step];
      to[q] = value > to[q] ? value : to[q];
    }
  }
  void end(const int64_t* at, int64_t n) { store_window_row(out, loops, store_row, at, best, n); }
};

struct Means {
  const WindowLoops& loops;
  const Plane& out;
  const Divisor divisor;
  float zero_point, scale;
  const Limits limits;
  float sums[kBlock] = {};

  void begin(int64_t n) { std::fill_n(sums, n, 0.0f); }
  void tap(const TapRow<float>& row) {
    float* const to = sums + row.at;
    for (int64_t q = 0; q < row.n; ++q) to[q] += row.values[q * row.step] - zero_point;
  }
  void end(const int64_t* at, int64_t n) {
    const int64_t outer = divisor.outer(loops, at);
    auto* to = reinterpret_cast<int8_t*>(out.at(at));
    for (int64_t q = 0; q < n; ++q, to += out.strides[2]) {
      const auto count = static_cast<float>(divisor.of(loops, outer, at[2] + q));
      *to = rounded(sums[q] * (scale / count), limits);
    }
  }
};

bool prepare(KernelRuntimeContext& ctx, const Tensor& input, const PoolArguments& arguments,
             WindowLoops* loops, Tensor& out) {
  return expect_int8(ctx, "input", input) && expect_int8(ctx, "out", out) &&
         pool_loops(ctx, input, 2, arguments, loops) &&
         ET_EXPECT(ctx, loops->taps() < kMaxElements, "a window of %" PRId64 " elements",
                   loops->taps()) &&
         resize(ctx, out, pool_shape(input, 2, *loops));
}

/// Calls work(from, to) for every plane, divided among threads.
template <class F>
void each_plane(const Tensor& input, const WindowLoops& loops, Tensor& out, F&& work) {
  const Images from(input, 2), to(out, 2);
  const int64_t planes = from.batch * from.channels;
  const Division division(planes, 1, planes * loops.outputs() * loops.taps());
  division.run([&](int64_t, int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t image = plane / from.channels, channel = plane % from.channels;
      work(from.plane(image, channel), to.plane(image, channel));
    }
  });
}

}  // namespace

Tensor& max_pool2d_out(KernelRuntimeContext& ctx, const Tensor& input,
                       ArrayRef<int64_t> kernel_size, ArrayRef<int64_t> stride,
                       ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation, bool ceil_mode,
                       Tensor& out) {
  WindowLoops loops;
  if (!prepare(ctx, input, {kernel_size, stride, padding, dilation, ceil_mode}, &loops, out)) {
    return out;
  }
  each_plane(input, loops, out, [&](const Plane& from, const Plane& to) {
    Maxima work{loops, to};
    for_each_window_row<float>(from, loops, 0, loops.rows(), work);
  });
  return out;
}

/// out = round(Σ(input - input_zero_point) * (scale / count)) + out_zero_point.
Tensor& avg_pool2d_out(KernelRuntimeContext& ctx, const Tensor& input, int64_t input_zero,
                       double scale, ArrayRef<int64_t> kernel_size, ArrayRef<int64_t> stride,
                       ArrayRef<int64_t> padding, bool ceil_mode, bool count_include_pad,
                       std::optional<int64_t> divisor_override, int64_t out_zero, int64_t out_min,
                       int64_t out_max, Tensor& out) {
  WindowLoops loops;
  if (!expect_limits(ctx, out_zero, out_min, out_max) || !expect_input_zero(ctx, input_zero) ||
      !ET_EXPECT(ctx, !divisor_override || *divisor_override != 0, "divisor_override is 0") ||
      !prepare(ctx, input, {kernel_size, stride, padding, {kUndilated, 1}, ceil_mode}, &loops,
               out)) {
    return out;
  }
  const Limits limits(out_zero, out_min, out_max);
  const Divisor divisor = {count_include_pad, divisor_override.value_or(0)};
  each_plane(input, loops, out, [&](const Plane& from, const Plane& to) {
    Means work{loops, to, divisor, static_cast<float>(input_zero), static_cast<float>(scale),
               limits};
    for_each_window_row<float>(from, loops, 0, loops.rows(), work);
  });
  return out;
}

namespace {

int64_t sum_of_all(const Strided& memory) {
  int64_t sum = 0;
  const LoopNest nest(memory, memory);
  nest.for_each_row([&](char* const* at) {
    const auto* from = reinterpret_cast<const int8_t*>(at[0]);
    int32_t part = 0;
    for (int64_t i = 0; i < nest.row(); ++i) part += from[i * nest.stride(0)];
    sum += part;
  });
  return sum;
}

}  // namespace

/// out = round((Σ input - count * input_zero_point) * (scale / count)) + out_zero_point, over the
/// dimensions given, or all.
Tensor& mean_out(KernelRuntimeContext& ctx, const Tensor& input, int64_t input_zero, double scale,
                 ArrayRef<int64_t> dim, bool keepdim, int64_t out_zero, int64_t out_min,
                 int64_t out_max, Tensor& out) {
  const int rank = static_cast<int>(input.dim());
  uint32_t mask = 0;
  if (!expect_int8(ctx, "input", input) || !expect_int8(ctx, "out", out) ||
      !expect_limits(ctx, out_zero, out_min, out_max) || !expect_input_zero(ctx, input_zero) ||
      !expect_dims(ctx, dim, rank, &mask)) {
    return out;
  }
  if (mask == 0) mask = (1u << rank) - 1;
  const Strided from(input);
  const Strided reduced = subset(from, mask), kept = subset(from, ~mask);
  const int64_t count = reduced.numel();
  Shape shape(input);
  for (int d = rank - 1; d >= 0; --d) {
    if (!(mask >> d & 1)) continue;
    keepdim ? void(shape.sizes[d] = 1) : shape.remove(d);
  }
  if (!ET_EXPECT(ctx, 0 < count && count < (int64_t(1) << 24),
                 "a mean of %" PRId64 " elements of %s", count, ShapeText(input).text) ||
      !resize(ctx, out, shape)) {
    return out;
  }
  const Limits limits(out_zero, out_min, out_max);
  const float factor = static_cast<float>(scale) / static_cast<float>(count);
  const Strided to(out);
  IndexWalk places(to), starts(kept);
  Strided region = reduced;
  for (int64_t i = kept.numel(); i > 0; --i) {
    region.data = starts.next();
    const auto sum = static_cast<float>(sum_of_all(region) - count * input_zero);
    *reinterpret_cast<int8_t*>(places.next()) = rounded(sum * factor, limits);
  }
  return out;
}

}  // namespace executorch::kernels::quantized
