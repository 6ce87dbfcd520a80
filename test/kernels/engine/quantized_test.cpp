// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Products of int8, static and dynamic, sums, and rows quantized at run time.
#include <executorch/kernels/engine/eltwise/quantize_rows.h>

#include "quantized.h"

namespace {

using namespace engine_test;  // NOLINT: the tests' vocabulary

TEST(QGemm, GivesTheSameIntegersOnEveryInstructionSet) {
  Random random(51);
  for (int i = 0; i < 60; ++i) {
    const size_t rows = random.one_of<size_t>({0, 1, 2, 3, random.size(1, 30)});
    const size_t columns = random.one_of<size_t>({1, 16, 17, 33, random.size(1, 140)});
    const size_t depth = random.one_of<size_t>({0, 1, 3, 17, random.size(1, 150)});
    const size_t stride = depth + random.size(0, 2), out_stride = columns + random.size(0, 2);
    const bool is_transposed = random.size(0, 1) == 0, has_bias = random.size(0, 2) != 0;
    const Bytes left(rows == 0 ? 0 : (rows - 1) * stride + depth, random);
    const Bytes right(depth * columns, random);
    const Quantized q(columns, random);
    const QRightMatrix matrix = {right.data(), is_transposed ? 1 : columns,
                                 is_transposed ? depth : 1};
    for (InstructionSet set : instruction_sets()) {
      ManyThreads threads(random.size(1, 3));
      const QGemm gemm = QGemm::plan(columns, depth, set);
      Aligned packed(gemm.packed_bytes());
      gemm.pack(matrix, q.columns(has_bias), packed.data());
      Bytes out(rows == 0 ? 0 : (rows - 1) * out_stride + columns, 77);
      const Bytes residual(out.size(), random);
      const bool adds = random.size(0, 1) == 0;
      const QSum total = any_sum(random);
      gemm.run({rows, left.data(), stride, packed.data(), out.data(), out_stride, q.to,
                adds ? residual.data() : nullptr, total},
               threads);
      for (size_t at = 0; at < out.size(); ++at) {
        const size_t row = at / out_stride, c = at % out_stride;
        if (c >= columns) {
          ASSERT_EQ(77, out[at]) << "a gap was written";
          continue;
        }
        int32_t sum = has_bias ? q.bias_sums[c] : 0;
        for (size_t d = 0; d < depth; ++d) {
          sum += (left[row * stride + d] - q.input_zero) *
                 right[d * matrix.depth_stride + c * matrix.column_stride];
        }
        const int product = requantized(sum, q.scales[c], q.to);
        ASSERT_EQ(adds ? total(int8_t(product), residual[at]) : product, int(out[at]))
            << rows << "x" << depth << "x" << columns << " " << name_of(set);
      }
    }
  }
}

TEST(QSum, EveryPairOfBytesIsAddedInFixedPoint) {
  Random random(57);
  for (int i = 0; i < 12; ++i) {
    const auto quantization = [&](float min, float max) {
      return ByteQuantization{random.floats(1, min, max)[0], int32_t(random.size(0, 255)) - 128};
    };
    const ByteQuantization a = quantization(1e-4f, 1e-1f), b = quantization(1e-4f, 1e-1f),
                           out = quantization(1e-2f, 1e-1f);
    QSum sum = QSum::plan(a, b, out);
    sum.out_min = random.one_of<int32_t>({-128, -20});
    sum.out_max = random.one_of<int32_t>({127, 40});
    EXPECT_TRUE(std::max(sum.factor_a, sum.factor_b) >= 1 << 20 &&
                std::max(sum.factor_a, sum.factor_b) <= 1 << 21);
    Bytes left(256 * 256), right(256 * 256);
    for (size_t at = 0; at < left.size(); ++at) {
      left.data()[at] = int8_t(int(at / 256) - 128);
      right.data()[at] = int8_t(int(at % 256) - 128);
    }
    // Rows have gaps between them, and a length that does not divide into vectors.
    const size_t stride = 331, columns = 257, rows = (left.size() - columns) / stride + 1;
    for (InstructionSet set : instruction_sets()) {
      Bytes output(left.size());
      std::copy(left.data(), left.data() + left.size(), output.data());
      residual_kernel(set)({&sum, right.data(), stride}, rows, columns, output.data(), stride);
      for (size_t at = 0; at < left.size(); ++at) {
        if (at % stride >= columns || at / stride >= rows) {
          ASSERT_EQ(left[at], output[at]) << "a gap was written";
          continue;
        }
        ASSERT_EQ(sum(left[at], right[at]), output[at]) << name_of(set);
        const double exact = (left[at] - a.zero_point) * double(a.scale) / out.scale +
                             (right[at] - b.zero_point) * double(b.scale) / out.scale;
        const double expected =
            std::min<double>(std::max<double>(exact + out.zero_point, sum.out_min), sum.out_max);
        ASSERT_NEAR(expected, output[at], tolerance::kRoundedToInteger);
      }
    }
  }
}

TEST(QSum, RefusesScalesBeyondItsFixedPoint) {
  EXPECT_TRUE(QSum::can_add(1e-3f, 0, 1.0f));
  EXPECT_FALSE(QSum::can_add(1e-4f, 9e-4f, 1.0f));
  EXPECT_TRUE(QSum::can_add(255, 1, 1));
  EXPECT_FALSE(QSum::can_add(256, 1, 1));
  EXPECT_FALSE(QSum::can_add(1, 1, 0));
}

TEST(QGemm, DynamicRowsMatchDoublePrecision) {
  Random random(52);
  for (int i = 0; i < 30; ++i) {
    const size_t rows = random.size(1, 30), columns = random.size(1, 100);
    const size_t depth = random.one_of<size_t>({1, 2, 5, random.size(1, 150), 5000});
    const Bytes left(rows * depth, random), right(depth * columns, random);
    const Quantized q(columns, random);
    std::vector<RowQuantization> parameters;
    for (float scale : random.floats(rows, 1e-3f, 1e-2f)) {
      parameters.push_back({int32_t(random.size(0, 255)) - 128, scale});
    }
    for (InstructionSet set : instruction_sets()) {
      ManyThreads threads(random.size(1, 3));
      const QGemm gemm = QGemm::plan(columns, depth, set);
      Aligned packed(gemm.packed_bytes());
      gemm.pack({right.data(), columns, 1}, q.dynamic_columns(), packed.data());
      Floats out(rows * columns);
      DynamicQGemmCall call;
      call.rows = rows;
      call.left = left.data();
      call.left_stride = depth;
      call.parameters = parameters.data();
      call.packed = packed.data();
      call.out = out.data();
      call.out_stride = columns;
      call.clamp_max = 50;
      gemm.run_dynamic(call, threads);
      for (size_t at = 0; at < out.size(); ++at) {
        const size_t row = at / columns, c = at % columns;
        int64_t sum = 0;
        for (size_t d = 0; d < depth; ++d) {
          sum += (left[row * depth + d] - parameters[row].zero_point) * right[d * columns + c];
        }
        const double expected = double(sum) * parameters[row].scale * q.scales[c] + q.bias[c];
        ASSERT_TRUE(is_near(std::min(expected, 50.0), out[at],
                            tolerance::kElementwise * (1 + std::fabs(expected))))
            << name_of(set) << " " << rows << "x" << depth << "x" << columns;
      }
    }
  }
}

/// A row's parameters and integers in the order of the contract.
RowQuantization quantized_row(const float* row, size_t length, std::vector<int>& integers) {
  float low = 0, high = 0;
  for (size_t i = 0; i < length; ++i) {
    if (row[i] < low) low = row[i];
    if (row[i] > high) high = row[i];
  }
  const float factor = low == high ? 1.0f : 255.0f / (high - low), scale = 1.0f / factor;
  const float from_low = -128 - low * factor, from_high = 127 - high * factor;
  const float zero = (-128 + low * factor) + (127 + high * factor) > 0 ? from_low : from_high;
  const auto zero_point = int32_t(std::nearbyint(zero > -128 ? std::min(zero, 127.0f) : -128.0f));
  integers.clear();
  for (size_t i = 0; i < length; ++i) {
    const float scaled = std::nearbyint(row[i] * (1.0f / scale)) + float(zero_point);
    integers.push_back(scaled > -128 ? int(std::min(scaled, 127.0f)) : -128);
  }
  return {zero_point, scale};
}

TEST(QuantizeRows, GivesTheSameIntegersOnEveryInstructionSet) {
  Random random(55);
  for (int i = 0; i < 200; ++i) {
    const size_t rows = random.size(0, 5),
                 length = random.one_of<size_t>({1, 64, random.size(1, 300)});
    Floats in = random.floats(rows * length, random.one_of<float>({-3, 0, -1e-3f}),
                              random.one_of<float>({5, 0, 1e30f}));
    if (rows > 0 && i % 4 == 0) {
      in[random.size(0, in.size() - 1)] =
          random.one_of<float>({kNaN, kInfinity, -kInfinity, -0.0f});
    }
    std::vector<int> expected;
    for (InstructionSet set : instruction_sets()) {
      ManyThreads threads(random.size(1, 3));
      Bytes out(rows * length, 77);
      std::vector<RowQuantization> parameters(rows + 1, {9, 9});
      quantize_rows({rows, length, in.data(), out.data(), parameters.data()}, threads, set);
      for (size_t row = 0; row < rows; ++row) {
        const RowQuantization of = quantized_row(in.data() + row * length, length, expected);
        ASSERT_EQ(of.zero_point, parameters[row].zero_point) << name_of(set);
        ASSERT_EQ(of.scale, parameters[row].scale) << name_of(set);
        for (size_t c = 0; c < length; ++c) {
          ASSERT_EQ(expected[c], int(out[row * length + c])) << name_of(set) << " column " << c;
        }
      }
      ASSERT_EQ(parameters[rows].zero_point, 9);
    }
  }
}

TEST(QGemm, RoundsHalvesToEvenAndSaturates) {
  CallingThread alone;
  // One row times columns whose sums are 1, 3, 5, -1, 30000, -30000.
  const int8_t left = 1, right[] = {1, 3, 5, -1, 100, -100};
  const float scales[] = {0.5f, 0.5f, 0.5f, 0.5f, 1e30f, 1e30f};
  const int expected[] = {0, 2, 2, 0, 127, -128};
  for (InstructionSet set : instruction_sets()) {
    const QGemm gemm = QGemm::plan(6, 1, set);
    Aligned packed(gemm.packed_bytes());
    gemm.pack({right, 6, 1}, {scales}, packed.data());
    int8_t out[6] = {};
    gemm.run({1, &left, 1, packed.data(), out, 6, {}, nullptr, {}}, alone);
    for (size_t c = 0; c < 6; ++c) EXPECT_EQ(expected[c], out[c]) << name_of(set);
  }
}

/// Every element of both operands is one of the extremes; sums come near the limits of int32.
TEST(QGemm, ExtremesGiveExactSumsUpToTheLimitsOfInt32) {
  CallingThread alone;
  constexpr size_t kRows = 9, kColumns = 17;
  // The largest product is (-128 - 127) * -128.
  constexpr size_t kLimit = size_t(INT32_MAX) / (255 * 128);
  for (size_t depth : {size_t{2}, size_t{65}, size_t{4700}, kLimit}) {
    for (int left_value : {-128, 127}) {
      for (int right_value : {-128, 127}) {
        for (int zero : {-128, 0, 127}) {
          const Bytes left(kRows * depth, int8_t(left_value));
          const Bytes right(depth * kColumns, int8_t(right_value));
          const int64_t sum = int64_t(left_value - zero) * right_value * int64_t(depth);
          const Floats scales(kColumns, 100.0f / std::max(std::fabs(float(sum)), 1.0f));
          const int expected = requantized(int32_t(sum), scales[0], {});
          for (InstructionSet set : instruction_sets()) {
            const QGemm gemm = QGemm::plan(kColumns, depth, set);
            Aligned packed(gemm.packed_bytes());
            gemm.pack({right.data(), kColumns, 1}, {scales.data(), zero}, packed.data());
            Bytes out(kRows * kColumns, 77);
            gemm.run(
                {kRows, left.data(), depth, packed.data(), out.data(), kColumns, {}, nullptr, {}},
                alone);
            for (size_t at = 0; at < out.size(); ++at) {
              ASSERT_EQ(expected, int(out[at]))
                  << name_of(set) << ", depth " << depth << ": " << left_value << ", "
                  << right_value << ", " << zero;
            }
          }
        }
      }
    }
  }
}

}  // namespace
