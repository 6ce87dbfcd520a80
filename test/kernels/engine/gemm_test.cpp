// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/gemm/gemm.h>
#include <executorch/kernels/engine/gemm/tiles/tiles.h>

#include <string>

#include "support.h"

namespace {

using namespace engine_test;  // NOLINT: the tests' vocabulary

struct Case {
  size_t rows, columns, depth;
  bool transposed, has_bias, has_residual, is_clamped;
  size_t left_gap, out_gap;

  std::string text() const {
    return std::to_string(rows) + "x" + std::to_string(depth) + "x" + std::to_string(columns) +
           (transposed ? " transposed" : "") + (has_bias ? " bias" : "") +
           (has_residual ? " residual" : "") + (is_clamped ? " clamped" : "");
  }
};

Case random_case(Random& random) {
  const auto size = [&](size_t most) {
    return random.one_of<size_t>({0, 1, 2, 7, 8, random.size(3, most), random.size(3, most)});
  };
  return {size(40),
          size(150),
          size(60),
          random.size(0, 1) == 1,
          random.size(0, 1) == 1,
          random.size(0, 1) == 1,
          random.size(0, 1) == 1,
          random.size(0, 3),
          random.size(0, 3)};
}

struct Operands {
  Floats left, right, bias, residual;
  size_t left_stride, out_stride, out_floats;

  Operands(const Case& c, Random& random)
      : left(random.floats(c.rows == 0 ? 0 : (c.rows - 1) * (c.depth + c.left_gap) + c.depth)),
        right(random.floats(c.depth * c.columns)),
        bias(random.floats(c.columns)),
        residual(
            random.floats(c.rows == 0 ? 0 : (c.rows - 1) * (c.columns + c.out_gap) + c.columns)),
        left_stride(c.depth + c.left_gap),
        out_stride(c.columns + c.out_gap),
        out_floats(residual.size()) {}

  float right_at(const Case& c, size_t d, size_t column) const {
    return c.transposed ? right[column * c.depth + d] : right[d * c.columns + column];
  }
};

Floats run(const Case& c, const Operands& o, InstructionSet set, Threads& threads,
           Precision precision = Precision::Float32) {
  const Gemm gemm = Gemm::plan(c.columns, c.depth, set, precision);
  Aligned packed(gemm.packed_bytes());
  const RightMatrix right = {o.right.data(), c.transposed ? 1 : c.columns,
                             c.transposed ? c.depth : 1};
  gemm.pack(right, c.has_bias ? o.bias.data() : nullptr, packed.floats(), threads);
  Floats out(o.out_floats, 77);
  GemmCall call;
  call.rows = c.rows;
  call.left = o.left.data();
  call.left_stride = o.left_stride;
  call.packed = packed.floats();
  call.out = out.data();
  call.out_stride = o.out_stride;
  if (c.has_residual) call.epilogue.residual = o.residual.data();
  if (c.is_clamped) {
    call.epilogue.clamp_min = -0.5f;
    call.epilogue.clamp_max = 0.75f;
  }
  Aligned scratch(gemm.scratch_bytes(c.rows));
  call.scratch = scratch.data();
  gemm.run(call, threads);
  return out;
}

double expected_at(const Case& c, const Operands& o, size_t row, size_t column) {
  double sum = c.has_bias ? o.bias[column] : 0;
  for (size_t d = 0; d < c.depth; ++d) {
    sum += double(o.left[row * o.left_stride + d]) * o.right_at(c, d, column);
  }
  if (c.has_residual) sum += o.residual[row * o.out_stride + column];
  if (!c.is_clamped || std::isnan(sum)) return sum;
  return std::min(std::max(sum, -0.5), 0.75);
}

void expect_product(const Case& c, const Operands& o, const Floats& out) {
  for (size_t row = 0; row < c.rows; ++row) {
    for (size_t column = 0; column < o.out_stride; ++column) {
      const size_t at = row * o.out_stride + column;
      if (at >= out.size()) break;
      if (column >= c.columns) {
        ASSERT_EQ(77, out[at]) << "a gap was written";
        continue;
      }
      ASSERT_TRUE(is_near(expected_at(c, o, row, column), out[at],
                          tolerance::kPerTerm * double(c.depth + 2)))
          << c.text() << " at " << row << ", " << column << ": " << out[at] << " expected "
          << expected_at(c, o, row, column);
    }
  }
}

TEST(Gemm, MatchesDoublePrecisionOnEveryInstructionSet) {
  Random random(1);
  CallingThread alone;
  for (int i = 0; i < 150; ++i) {
    const Case c = random_case(random);
    const Operands operands(c, random);
    for (InstructionSet set : instruction_sets()) {
      SCOPED_TRACE(name_of(set));
      expect_product(c, operands, run(c, operands, set, alone));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Gemm, CoversEveryTileAndItsTails) {
  Random random(2);
  CallingThread alone;
  for (InstructionSet set : instruction_sets()) {
    SCOPED_TRACE(name_of(set));
    const GemmTiles& tiles = gemm_tiles(set);
    for (size_t rows = 1; rows <= tiles.rows + 3; ++rows) {
      for (size_t columns = 1; columns <= 2 * tiles.panel + 1;
           columns += columns % 8 == 0 ? 1 : 3) {
        const Case c = {rows, columns, 6, true, true, rows % 2 == 0, true, 0, 1};
        const Operands operands(c, random);
        expect_product(c, operands, run(c, operands, set, alone));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Gemm, DividesLongDepthsWithoutChangingTheSum) {
  Random random(3);
  CallingThread alone;
  for (size_t depth : {1535, 1537, 2048, 3001}) {
    const Case c = {13, 70, depth, true, true, true, true, 0, 0};
    const Operands operands(c, random);
    for (InstructionSet set : instruction_sets()) {
      SCOPED_TRACE(name_of(set));
      expect_product(c, operands, run(c, operands, set, alone));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Gemm, GivesTheSameBitsOnAnyNumberOfThreads) {
  Random random(4);
  CallingThread alone;
  for (int i = 0; i < 6; ++i) {
    const Case c = {random.size(1, 300),
                    random.size(1, 400),
                    random.size(1, 1800),
                    true,
                    true,
                    true,
                    false,
                    0,
                    0};
    const Operands operands(c, random);
    for (InstructionSet set : instruction_sets()) {
      const Floats one = run(c, operands, set, alone);
      for (size_t count : {2, 3, 5}) {
        ManyThreads threads(count);
        ASSERT_TRUE(same_bits(one, run(c, operands, set, threads)))
            << c.text() << " on " << count << " threads, " << name_of(set);
      }
    }
  }
}

TEST(Gemm, KeepsNaNAndInfinityWhereTheyAre) {
  Random random(5);
  CallingThread alone;
  const Case c = {11, 45, 9, true, true, true, true, 0, 0};
  for (size_t row = 0; row < c.rows; ++row) {
    for (float special : {kNaN, kInfinity, -kInfinity}) {
      Operands operands(c, random);
      operands.left[row * c.depth + row % c.depth] = special;
      operands.residual[row * c.columns + row] = special;
      for (InstructionSet set : instruction_sets()) {
        expect_product(c, operands, run(c, operands, set, alone));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Gemm, AppliesEveryActivation) {
  Random random(6);
  CallingThread alone;
  const auto expected = [](Activation activation, double x) {
    switch (activation) {
      case Activation::None:
        return x;
      case Activation::Silu:
        return x / (1 + std::exp(-x));
      case Activation::Hardswish:
        return x * std::min(std::max(x + 3, 0.0), 6.0) / 6;
      case Activation::Gelu:
        return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
      case Activation::GeluTanh:
        return 0.5 * x * (1 + std::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
      case Activation::Sigmoid:
        return 1 / (1 + std::exp(-x));
      case Activation::Tanh:
        return std::tanh(x);
    }
    return x;
  };
  constexpr size_t kRows = 5, kColumns = 37;
  const Floats left = random.floats(kRows, -8, 8), right = random.floats(kColumns, 0.5f, 1);
  for (Activation activation :
       {Activation::None, Activation::Silu, Activation::Hardswish, Activation::Gelu,
        Activation::GeluTanh, Activation::Sigmoid, Activation::Tanh}) {
    for (InstructionSet set : instruction_sets()) {
      const Gemm gemm = Gemm::plan(kColumns, 1, set);
      Aligned packed(gemm.packed_bytes());
      gemm.pack({right.data(), kColumns, 1}, nullptr, packed.floats(), alone);
      Floats out(kRows * kColumns);
      GemmCall call;
      call.rows = kRows;
      call.left = left.data();
      call.left_stride = 1;
      call.packed = packed.floats();
      call.out = out.data();
      call.out_stride = kColumns;
      call.epilogue.activation = activation;
      gemm.run(call, alone);
      for (size_t i = 0; i < out.size(); ++i) {
        const double x = double(left[i / kColumns]) * right[i % kColumns];
        ASSERT_TRUE(is_near(expected(activation, x), out[i], tolerance::kActivation))
            << int(activation) << " " << x;
      }
    }
  }
}

/// Factors that are bfloat16 already give the products of float32; others are rounded first.
void expect_rounded_product(const Case& c, Operands& o, InstructionSet set, Threads& threads) {
  const Floats output = run(c, o, set, threads, Precision::BFloat16);
  if (Gemm::plan(c.columns, c.depth, set, Precision::BFloat16).precision() == Precision::BFloat16) {
    round_to_bf16(o.left);
    round_to_bf16(o.right);
  }
  expect_product(c, o, output);
}

TEST(Bfloat16Gemm, RoundsFactorsAndSumsInFloat32OnEveryInstructionSet) {
  Random random(21);
  CallingThread alone;
  ManyThreads many(3);
  for (int i = 0; i < 150; ++i) {
    const Case c = random_case(random);
    const Operands operands(c, random);
    for (InstructionSet set : instruction_sets()) {
      SCOPED_TRACE(name_of(set));
      Operands rounded = operands;
      expect_rounded_product(c, rounded, set, alone);
      if (testing::Test::HasFatalFailure()) return;
      ASSERT_TRUE(same_bits(run(c, operands, set, alone, Precision::BFloat16),
                            run(c, operands, set, many, Precision::BFloat16)));
    }
  }
}

TEST(Bfloat16Gemm, CoversEveryTileAndItsTailsAndLongDepths) {
  Random random(22);
  CallingThread alone;
  for (InstructionSet set : instruction_sets()) {
    SCOPED_TRACE(name_of(set));
    const GemmTiles& tiles = gemm_tiles(set, Precision::BFloat16);
    for (size_t rows = 1; rows <= tiles.rows + 3; ++rows) {
      for (size_t columns = 16; columns <= 2 * tiles.panel + 1;
           columns += columns % 8 == 0 ? 1 : 3) {
        const size_t depth = rows % 2 == 0 ? 10 : 11;
        Operands operands({rows, columns, depth, true, true, true, true, 0, 1}, random);
        expect_rounded_product({rows, columns, depth, true, true, rows % 2 == 0, true, 0, 1},
                               operands, set, alone);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
    for (size_t depth : {3071, 3073, 4096, 6001}) {
      for (bool transposed : {false, true}) {
        const Case c = {13, 70, depth, transposed, true, true, true, 0, 0};
        Operands operands(c, random);
        expect_rounded_product(c, operands, set, alone);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Bfloat16Gemm, UsesTheTilesOfTheInstructionSetThatHasThem) {
  for (InstructionSet set : instruction_sets()) {
    EXPECT_EQ(set >= InstructionSet::Avx512Bf16 ? Precision::BFloat16 : Precision::Float32,
              Gemm::plan(64, 64, set, Precision::BFloat16).precision());
    EXPECT_EQ(Precision::Float32, Gemm::plan(64, 64, set).precision());
    EXPECT_EQ(Precision::Float32, Gemm::plan(64, 1, set, Precision::BFloat16).precision());
  }
}

TEST(Bfloat16Gemm, KeepsNaNInfinityAndSignedZeroAndTakesSubnormalsForZero) {
  Random random(23);
  CallingThread alone;
  const Case c = {11, 45, 9, true, true, true, true, 0, 0};
  for (size_t row = 0; row < c.rows; ++row) {
    for (float special : {kNaN, kInfinity, -kInfinity, -0.0f, 1e-40f, -1e-45f, 3.4e38f}) {
      Operands operands(c, random);
      operands.left[row * c.depth + row % c.depth] = special;
      operands.right[row * c.depth] = special;
      for (InstructionSet set : instruction_sets()) {
        Operands rounded = operands;
        expect_rounded_product(c, rounded, set, alone);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
