// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/gemm/bf16_weights.h>

#include <string>

#include "support.h"

namespace {

using namespace engine_test;  // NOLINT: the tests' vocabulary

struct Case {
  size_t rows, columns, depth;
  bool transposed, has_bias, has_residual, is_clamped;
  Activation activation = Activation::None;
  size_t left_gap = 0, out_gap = 0;

  std::string text() const {
    return std::to_string(rows) + "x" + std::to_string(depth) + "x" + std::to_string(columns) +
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
    round_to_bf16(right);
    set_halves();
  }

  void set_halves() {
    halves.clear();
    for (float value : right) {
      uint32_t bits;
      std::memcpy(&bits, &value, sizeof(bits));
      halves.push_back(uint16_t(bits >> 16));
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
  const Bf16WeightGemm gemm = Bf16WeightGemm::plan(c.columns, c.depth, set);
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
    if (Bf16WeightGemm::is_available(set)) sets.push_back(set);
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

TEST(Bf16WeightGemm, IsAvailableWhereNoTilesMultiplyBfloat16) {
  EXPECT_FALSE(Bf16WeightGemm::is_available(InstructionSet::Scalar));
  for (InstructionSet set : instruction_sets()) {
    EXPECT_EQ(set >= InstructionSet::Avx2 && set < InstructionSet::Avx512Bf16,
              Bf16WeightGemm::is_available(set));
  }
}

TEST(Bf16WeightGemm, GivesTheBitsOfFloat32) {
  Random random(31);
  for (size_t rows : {0, 1, 2, 3, 4, 5, 13}) {
    for (size_t columns : {0, 1, 15, 16, 17, 32, 33, 63, 150}) {
      const size_t depth = random.one_of<size_t>({0, 1, 2, 31, 32, 33, 100});
      const auto flag = [&] { return random.size(0, 1) == 1; };
      const Case c = {rows,
                      columns,
                      depth,
                      flag(),
                      flag(),
                      flag(),
                      flag(),
                      Activation::None,
                      random.size(0, 3),
                      random.size(0, 3)};
      expect_bits_of_float32(c, Operands(c, random));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Bf16WeightGemm, DividesLongDepthsAndManyColumns) {
  Random random(32);
  for (size_t rows : {1, 4, 7, 64}) {
    for (size_t depth : {1023, 1537, 3001}) {
      const Case c = {rows, 301, depth, true, true, true, false};
      expect_bits_of_float32(c, Operands(c, random));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Bf16WeightGemm, AppliesActivations) {
  Random random(33);
  for (size_t rows : {1, 3, 9}) {
    for (Activation activation : {Activation::Silu, Activation::Gelu, Activation::Tanh}) {
      const Case c = {rows, 45, 20, true, true, false, false, activation};
      expect_bits_of_float32(c, Operands(c, random));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Bf16WeightGemm, KeepsNaNInfinityAndSubnormals) {
  Random random(34);
  for (auto [rows, special] : {std::pair{size_t{3}, kNaN},
                               {3, kInfinity},
                               {3, -kInfinity},
                               {3, -0.0f},
                               {3, 1e-40f},
                               {9, kNaN},
                               {9, kInfinity},
                               {9, -kInfinity},
                               {9, -0.0f},
                               {9, 1e-40f}}) {
    const Case c = {rows, 45, 9, true, true, true, true};
    Operands operands(c, random);
    operands.left[c.depth + 2] = special;
    operands.right[7 * c.depth + 3] = special;
    operands.set_halves();
    // Special numbers lose their low bits.
    for (size_t i = 0; i < operands.right.size(); ++i) {
      const uint32_t bits = uint32_t(operands.halves[i]) << 16;
      std::memcpy(&operands.right[i], &bits, sizeof(bits));
    }
    CallingThread alone;
    for (InstructionSet set : available_sets()) {
      const Floats product = expected(c, operands, set), found = run(c, operands, set, alone);
      for (size_t i = 0; i < found.size(); ++i) {
        ASSERT_TRUE(is_near(product[i], found[i], 0)) << special << " at " << i;
      }
    }
  }
}

}  // namespace
