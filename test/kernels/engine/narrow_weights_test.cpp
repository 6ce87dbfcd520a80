// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/gemm/narrow_weights.h>
#include <executorch/runtime/core/portable_type/bfloat16.h>
#include <executorch/runtime/core/portable_type/half.h>

#include <string>

#include "support.h"

namespace {

using namespace engine_test;  // NOLINT: the tests' vocabulary
using executorch::runtime::etensor::BFloat16;
using executorch::runtime::etensor::Half;

constexpr NarrowType kTypes[] = {NarrowType::BFloat16, NarrowType::Float16};

float value_of(NarrowType type, uint16_t bits) {
  return type == NarrowType::BFloat16 ? float(BFloat16(bits, BFloat16::from_bits()))
                                      : float(Half(bits, Half::from_bits()));
}

struct Case {
  NarrowType type;
  size_t rows, columns, depth;
  bool transposed, has_bias, has_residual, is_clamped;
  Activation activation = Activation::None;
  size_t left_gap = 0, out_gap = 0;

  std::string text() const {
    return std::string(type == NarrowType::BFloat16 ? "bfloat16 " : "float16 ") +
           std::to_string(rows) + "x" + std::to_string(depth) + "x" + std::to_string(columns) +
           (transposed ? " transposed" : "") + (has_bias ? " bias" : "") +
           (has_residual ? " residual" : "") + (is_clamped ? " clamped" : "");
  }
};

struct Operands {
  Floats left, right, bias, residual;
  std::vector<uint16_t> halves;

  Operands(const Case& c, Random& random)
      : left(random.floats(c.rows * (c.depth + c.left_gap))),
        right(random.floats(c.depth * c.columns)),
        bias(random.floats(c.columns)),
        residual(random.floats(c.rows * (c.columns + c.out_gap))) {
    round_weights(c.type);
  }

  void round_weights(NarrowType type) {
    halves.clear();
    for (float& value : right) {
      halves.push_back(type == NarrowType::BFloat16 ? BFloat16(value).x : Half(value).x);
      value = value_of(type, halves.back());
    }
  }
};

GemmCall call_of(const Case& c, const Operands& o, Floats& out) {
  GemmCall call;
  call.rows = c.rows;
  call.left = o.left.data();
  call.left_stride = c.depth + c.left_gap;
  call.out = out.data();
  call.out_stride = c.columns + c.out_gap;
  call.epilogue.activation = c.activation;
  if (c.has_residual) call.epilogue.residual = o.residual.data();
  if (c.is_clamped) {
    call.epilogue.clamp_min = -0.5f;
    call.epilogue.clamp_max = 0.75f;
  }
  return call;
}

Floats run(const Case& c, const Operands& o, InstructionSet set, Threads& threads) {
  const NarrowWeightGemm gemm = NarrowWeightGemm::plan(c.columns, c.depth, c.type, set);
  Aligned packed(gemm.packed_bytes()), scratch(gemm.scratch_bytes(c.rows, threads.count()));
  gemm.pack({o.halves.data(), c.transposed ? 1 : c.columns,
             c.transposed ? std::max(c.depth, size_t{1}) : 1},
            c.has_bias ? o.bias.data() : nullptr, packed.floats(), threads);
  Floats out(o.residual.size(), 77);
  GemmCall call = call_of(c, o, out);
  call.packed = packed.floats();
  call.scratch = scratch.data();
  gemm.run(call, threads);
  return out;
}

/// The same product with weights in float32.
Floats expected(const Case& c, const Operands& o, InstructionSet set) {
  CallingThread alone;
  const Gemm gemm = Gemm::plan(c.columns, c.depth, set);
  Aligned packed(gemm.packed_bytes());
  gemm.pack({o.right.data(), c.transposed ? 1 : c.columns, c.transposed ? c.depth : 1},
            c.has_bias ? o.bias.data() : nullptr, packed.floats(), alone);
  Floats out(o.residual.size(), 77);
  GemmCall call = call_of(c, o, out);
  call.packed = packed.floats();
  gemm.run(call, alone);
  return out;
}

std::vector<InstructionSet> available_sets() {
  std::vector<InstructionSet> sets;
  for (InstructionSet set : instruction_sets()) {
    if (NarrowWeightGemm::is_available(set)) sets.push_back(set);
  }
  return sets;
}

void expect_bits_of_float32(const Case& c, const Operands& o) {
  CallingThread alone;
  ManyThreads many(3);
  for (InstructionSet set : available_sets()) {
    SCOPED_TRACE(name_of(set));
    const Floats product = expected(c, o, set);
    ASSERT_TRUE(same_bits(product, run(c, o, set, alone))) << c.text();
    ASSERT_TRUE(same_bits(product, run(c, o, set, many))) << c.text() << " on threads";
  }
}

TEST(NarrowWeightGemm, IsAvailableWithFastConversions) {
  EXPECT_FALSE(NarrowWeightGemm::is_available(InstructionSet::Scalar));
  for (InstructionSet set : instruction_sets()) {
    EXPECT_EQ(set >= InstructionSet::Avx2, NarrowWeightGemm::is_available(set));
  }
}

TEST(NarrowWeightGemm, PacksTypesInFormsOfTheirOwn) {
  for (InstructionSet set : available_sets()) {
    const auto layout = [&](NarrowType type) {
      return NarrowWeightGemm::plan(40, 9, type, set).layout();
    };
    EXPECT_NE(layout(NarrowType::BFloat16), layout(NarrowType::Float16));
    EXPECT_NE(layout(NarrowType::Float16), Gemm::plan(40, 9, set).layout());
  }
}

TEST(NarrowWeightGemm, GivesTheBitsOfFloat32) {
  Random random(31);
  for (size_t rows : {0, 1, 2, 3, 4, 5, 6, 7, 13, 25, 48, 49, 61}) {
    for (size_t columns : {0, 1, 15, 16, 17, 32, 33, 63, 150}) {
      const auto flag = [&] { return random.size(0, 1) == 1; };
      Case c = {NarrowType::BFloat16,
                rows,
                columns,
                random.one_of<size_t>({0, 1, 2, 31, 32, 33, 100}),
                flag(),
                flag(),
                flag(),
                flag(),
                Activation::None,
                random.size(0, 3),
                random.size(0, 3)};
      for (NarrowType type : kTypes) {
        c.type = type;
        expect_bits_of_float32(c, Operands(c, random));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(NarrowWeightGemm, DividesLongDepthsAndManyColumns) {
  Random random(32);
  for (size_t rows : {1, 4, 7, 23, 64}) {
    for (size_t depth : {1023, 1537, 3001}) {
      for (NarrowType type : kTypes) {
        const Case c = {type, rows, 301, depth, true, true, true, false};
        expect_bits_of_float32(c, Operands(c, random));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(NarrowWeightGemm, AppliesActivations) {
  Random random(33);
  for (size_t rows : {1, 3, 9, 52}) {
    for (Activation activation : {Activation::Silu, Activation::Gelu, Activation::Tanh}) {
      for (NarrowType type : kTypes) {
        const Case c = {type, rows, 45, 20, true, true, false, false, activation};
        expect_bits_of_float32(c, Operands(c, random));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(NarrowWeightGemm, ConvertsEveryBitPattern) {
  Random random(34);
  for (size_t rows : {1, 5, 52}) {
    for (NarrowType type : kTypes) {
      const Case c = {type, rows, size_t{1} << 16, 1, false, false, false, false};
      Operands operands(c, random);
      std::fill(operands.left.begin(), operands.left.end(), 1.0f);
      for (size_t i = 0; i < c.columns; ++i) operands.halves[i] = uint16_t(i);
      CallingThread alone;
      for (InstructionSet set : available_sets()) {
        const Floats found = run(c, operands, set, alone);
        for (size_t i = 0; i < found.size(); ++i) {
          const auto bits = uint16_t(i % c.columns);
          ASSERT_TRUE(is_near(double(value_of(type, bits)), found[i], 0))
              << c.text() << " " << bits;
        }
      }
    }
  }
}

TEST(NarrowWeightGemm, KeepsNaNInfinityAndSubnormals) {
  Random random(35);
  for (NarrowType type : kTypes) {
    for (size_t rows : {3, 9, 52}) {
      for (float special : {kNaN, kInfinity, -kInfinity, -0.0f, 1e-40f, 6e-8f}) {
        const Case c = {type, rows, 45, 9, true, true, true, true};
        Operands operands(c, random);
        operands.left[c.depth + 2] = special;
        operands.right[7 * c.depth + 3] = special;
        operands.round_weights(type);
        CallingThread alone;
        for (InstructionSet set : available_sets()) {
          const Floats product = expected(c, operands, set), found = run(c, operands, set, alone);
          for (size_t i = 0; i < found.size(); ++i) {
            ASSERT_TRUE(is_near(product[i], found[i], 0)) << special << " at " << i;
          }
        }
      }
    }
  }
}

}  // namespace
