// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Linear layers on int8.
#include <executorch/kernels/loops/memory/divide.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/quantized/NativeFunctions.h>
#include <executorch/kernels/quantized/int8/operands.h>

namespace executorch::kernels::quantized {

namespace {

// Multiplications that justify another thread: about 10 us.
constexpr int64_t kMinProducts = 1 << 19;
// Outputs computed at a time.
constexpr int64_t kOutputs = 64;

struct Linear {
  const IntegerLoops& loops;
  int64_t depth, channels;
  const int8_t* weight;
  const float* scales;
  const float* offsets;
  Limits limits;

  // Outputs [begin, end) of up to kInputs rows.
  void run(const Factor* x, int64_t x_step, int inputs, int8_t* out, int64_t begin,
           int64_t end) const {
    int32_t sums[IntegerLoops::kInputs * kOutputs];
    for (int64_t first = begin; first < end; first += kOutputs) {
      const int64_t n = std::min(kOutputs, end - first);
      loops.dots(depth, x, x_step, inputs, weight + first * depth, depth, n, sums, kOutputs);
      for (int i = 0; i < inputs; ++i) {
        loops.requantize(sums + i * kOutputs, scales + first, offsets + first, true, limits,
                         out + i * channels + first, n);
      }
    }
  }
};

/// Rows as factors: in place, or widened into `room`.
const Factor* factors(const IntegerLoops& loops, const int8_t* x, Factor* room, int64_t n) {
  if constexpr (sizeof(Factor) == sizeof(int8_t)) {
    return reinterpret_cast<const Factor*>(x);
  } else {
    loops.widen(x, room, n);
    return room;
  }
}

/// Calls f(row, count, the rows as factors, outputs begin, end) for a few rows of the input at a
/// time.
template <class F>
void for_each_rows(KernelRuntimeContext& ctx, const IntegerLoops& loops, const int8_t* from,
                   int64_t rows, int64_t depth, int64_t channels, F&& f) {
  constexpr int64_t kInputs = IntegerLoops::kInputs;
  constexpr bool widens = sizeof(Factor) > sizeof(int8_t);
  auto* const room = widens ? allocate<Factor>(ctx, depth * std::min(rows, kInputs)) : nullptr;
  if (widens && room == nullptr) return;
  for (int64_t row = 0; row < rows; row += kInputs) {
    const int inputs = static_cast<int>(std::min(kInputs, rows - row));
    const Factor* const x = factors(loops, from + row * depth, room, depth * inputs);
    const Division division(channels, kOutputs, inputs * channels * depth, kMinProducts);
    division.run([&](int64_t, int64_t begin, int64_t end) { f(row, inputs, x, begin, end); });
  }
}

}  // namespace

/// out[..., n] = round(Σk input[..., k] * weight[n, k] * scales[n] + offsets[n]) + out_zero_point.
Tensor& linear_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                   const Tensor& scales, const Tensor& offsets, int64_t out_zero, int64_t out_min,
                   int64_t out_max, Tensor& out) {
  Shape shape(input);
  if (!expect_int8(ctx, "input", input) || !expect_int8(ctx, "out", out) ||
      !expect_limits(ctx, out_zero, out_min, out_max) ||
      !expect_weights(ctx, weight, scales, offsets) ||
      !ET_EXPECT(
          ctx, weight.dim() == 2 && shape.rank > 0 && shape.sizes[shape.rank - 1] == weight.size(1),
          "input %s and weight %s cannot be multiplied", ShapeText(input).text,
          ShapeText(weight).text)) {
    return out;
  }
  shape.sizes[shape.rank - 1] = weight.size(0);
  if (!resize(ctx, out, shape) ||
      !ET_EXPECT(ctx, in_index_order(Strided(input)) && in_index_order(Strided(out)),
                 "input and out must be contiguous") ||
      out.numel() == 0) {
    return out;
  }
  const IntegerLoops& loops = integer_loops();
  const Linear layer{loops,
                     weight.size(1),
                     weight.size(0),
                     weight.const_data_ptr<int8_t>(),
                     scales.const_data_ptr<float>(),
                     offsets.const_data_ptr<float>(),
                     Limits(out_zero, out_min, out_max)};
  const int64_t rows = out.numel() / layer.channels;
  auto* const to = out.mutable_data_ptr<int8_t>();
  for_each_rows(ctx, loops, input.const_data_ptr<int8_t>(), rows, layer.depth, layer.channels,
                [&](int64_t row, int inputs, const Factor* x, int64_t begin, int64_t end) {
                  layer.run(x, layer.depth, inputs, to + row * layer.channels, begin, end);
                });
  return out;
}

/// out[m, n] = Σk input[m, k] * weight[n, k], in int32.
Tensor& product_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                    Tensor& out) {
  if (!expect_int8(ctx, "input", input) || !expect_int8(ctx, "weight", weight) ||
      !expect_dtype(ctx, "out", out, ScalarType::Int) ||
      !ET_EXPECT(ctx,
                 input.dim() == 2 && weight.dim() == 2 && input.size(1) == weight.size(1) &&
                     weight.size(1) <= kMaxTerms,
                 "the product of input %s and weight %s must have at most %" PRId64 " terms",
                 ShapeText(input).text, ShapeText(weight).text, kMaxTerms)) {
    return out;
  }
  Shape shape(input);
  shape.sizes[1] = weight.size(0);
  if (!resize(ctx, out, shape) ||
      !ET_EXPECT(ctx,
                 in_index_order(Strided(input)) && in_index_order(Strided(weight)) &&
                     in_index_order(Strided(out)),
                 "input, weight and out must be contiguous") ||
      out.numel() == 0) {
    return out;
  }
  const IntegerLoops& loops = integer_loops();
  const int64_t depth = input.size(1), channels = weight.size(0);
  const auto* const rows = weight.const_data_ptr<int8_t>();
  auto* const to = out.mutable_data_ptr<int32_t>();
  for_each_rows(ctx, loops, input.const_data_ptr<int8_t>(), input.size(0), depth, channels,
                [&](int64_t row, int inputs, const Factor* x, int64_t begin, int64_t end) {
                  loops.dots(depth, x, depth, inputs, rows + begin * depth, depth, end - begin,
                             to + row * channels + begin, channels);
                });
  return out;
}

}  // namespace executorch::kernels::quantized
