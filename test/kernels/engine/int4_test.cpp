// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Products with 4-bit weights.
#include <executorch/kernels/engine/qgemm/int4_gemm.h>

#include <string>

#include "support.h"

namespace {

using namespace engine_test;  // NOLINT: the tests' vocabulary

struct Int4Case {
  size_t rows, columns, group, groups;
  bool has_column_scales;
};

/// Random operands of a case and the product in double precision.
struct Int4Product {
  Int4Case sizes;
  size_t depth;
  std::vector<uint8_t> nibbles;
  std::vector<uint16_t> group_scales;
  std::vector<float> column_scales, bias;
  std::vector<int8_t> left;
  std::vector<RowQuantization> rows;

  Int4Product(const Int4Case& from, Random& random) : sizes(from), depth(from.group * from.groups) {
    const auto byte = [&] { return int(random.size(0, 255)); };
    for (size_t i = 0; i < sizes.columns * depth / 2; ++i) nibbles.push_back(uint8_t(byte()));
    for (size_t i = 0; i < sizes.columns * sizes.groups; ++i) {
      group_scales.push_back(uint16_t(0x3A00 + byte()));  // 0.0005 to 0.002
    }
    for (size_t i = 0; i < sizes.columns; ++i) {
      column_scales.push_back(1e-3f * float(1 + byte()));
      bias.push_back(float(byte()) - 128);
    }
    for (size_t i = 0; i < sizes.rows * depth; ++i) left.push_back(int8_t(byte() - 128));
    for (size_t i = 0; i < sizes.rows; ++i) {
      const int zero_point = byte() - 128;
      rows.push_back({zero_point, 1e-3f * float(1 + byte())});
    }
  }

  double scale(size_t column, size_t d) const {
    if (sizes.has_column_scales) return column_scales[column];
    const uint32_t wide = uint32_t(group_scales[column * sizes.groups + d / sizes.group]) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }

  double expected(size_t row, size_t column, double* magnitude) const {
    double sum = 0;
    for (size_t d = 0; d < depth; ++d) {
      const uint8_t pair = nibbles[(column * depth + d) / 2];
      const int weight = (d % 2 == 0 ? pair & 15 : pair >> 4) - 8;
      const double product =
          (left[row * depth + d] - rows[row].zero_point) * weight * scale(column, d);
      sum += product;
      *magnitude += std::fabs(product) * rows[row].scale;
    }
    return sum * rows[row].scale + bias[column];
  }
};

void expect_product(const Int4Product& p, size_t threads_count, InstructionSet set) {
  const Int4Case& s = p.sizes;
  ASSERT_TRUE(Int4Gemm::is_available(p.depth, s.group, set));
  const Int4Gemm gemm = Int4Gemm::plan(s.columns, p.depth, s.group, s.has_column_scales, set);
  Aligned packed(gemm.packed_bytes()), scratch(gemm.scratch_bytes(s.rows));
  gemm.pack({p.nibbles.data(), s.has_column_scales ? nullptr : p.group_scales.data(),
             s.has_column_scales ? p.column_scales.data() : nullptr},
            p.bias.data(), packed.data());
  const size_t stride = s.columns + 1;
  Floats out(s.rows * stride, 77);
  DynamicQGemmCall call;
  call.rows = s.rows;
  call.left = p.left.data();
  call.left_stride = p.depth;
  call.parameters = p.rows.data();
  call.packed = packed.data();
  call.out = out.data();
  call.out_stride = stride;
  call.clamp_max = 100;
  ManyThreads threads(threads_count);
  gemm.run(call, scratch.data(), threads);
  for (size_t r = 0; r < s.rows; ++r) {
    for (size_t c = 0; c < s.columns; ++c) {
      double magnitude = 1e-3;
      const double expected = std::min(p.expected(r, c, &magnitude), 100.0);
      ASSERT_TRUE(is_near(expected, out[r * stride + c],
                          tolerance::kLayer * magnitude + tolerance::kRowScales))
          << s.rows << "x" << p.depth << "x" << s.columns << " groups of " << s.group << " "
          << name_of(set);
    }
    ASSERT_EQ(77, out[r * stride + s.columns]) << "a gap was written";
  }
}

/// The sets that have a kernel.
std::vector<InstructionSet> int4_sets() {
  std::vector<InstructionSet> sets;
  for (InstructionSet set : instruction_sets()) {
    if (Int4Gemm::is_available(32, 32, set)) sets.push_back(set);
  }
  return sets;
}

TEST(Int4Gemm, MatchesDoublePrecision) {
  if (!Int4Gemm::is_available(32, 32)) GTEST_SKIP() << "no kernel for this processor";
  Random random(61);
  for (int i = 0; i < 40; ++i) {
    const bool has_column_scales = random.size(0, 2) == 0;
    const size_t groups = has_column_scales ? 1 : random.size(1, 5);
    const Int4Product product(
        {random.size(0, 20), random.size(1, 50), 32 * random.size(1, 4), groups, has_column_scales},
        random);
    for (InstructionSet set : int4_sets()) expect_product(product, random.size(1, 3), set);
  }
}

TEST(Int4Gemm, DoesNotSaturateAtTheExtremesOfBothOperands) {
  if (!Int4Gemm::is_available(32, 32)) GTEST_SKIP() << "no kernel for this processor";
  Random random(62);
  for (int8_t extreme : {int8_t(-128), int8_t(127)}) {
    Int4Product product({3, 16, 64, 2, false}, random);
    std::fill(product.left.begin(), product.left.end(), extreme);
    std::fill(product.nibbles.begin(), product.nibbles.end(), uint8_t(0xFF));
    for (RowQuantization& row : product.rows) row.zero_point = -int32_t(extreme);
    for (InstructionSet set : int4_sets()) expect_product(product, 1, set);
  }
}

TEST(Int4Gemm, HasNoKernelForGroupsThatAreNotMultiplesOf32) {
  EXPECT_FALSE(Int4Gemm::is_available(48, 48));
  EXPECT_FALSE(Int4Gemm::is_available(96, 64));
  EXPECT_FALSE(Int4Gemm::is_available(64, 32, InstructionSet::Scalar));
}

}  // namespace
