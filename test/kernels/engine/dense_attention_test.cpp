// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/attention/dense.h>

#include <array>
#include <vector>

#include "support.h"

namespace {

using namespace engine_test;  // NOLINT: the tests' vocabulary

using Batch = std::array<size_t, 2>;

struct Case {
  Batch batch = {};
  size_t queries = 0, keys = 0, channels = 0, value_channels = 0;
  float scale = 1;
  /// Rows and keys that share a number of the mask have a stride of 0.
  bool has_mask = false, has_mask_rows = false, has_mask_keys = false;
  /// Every head reads the first one's keys and values.
  bool shares_keys = false;
  /// Heads beside each other in the memory of a position.
  bool is_interleaved = false;
  /// Booleans that replace scores: bytes of any bits, false ones or true ones. Shares as the
  /// mask's.
  bool has_replaced = false, replaces_true = false;
};

Case random_case(Random& random) {
  Case c;
  c.batch = {random.size(1, 2), random.size(1, 3)};
  c.queries = random.one_of<size_t>({1, 2, 5, 13, random.size(0, 90)});
  c.keys = random.one_of<size_t>({1, 2, 16, 33, random.size(0, 200), random.size(500, 1100)});
  c.channels = random.one_of<size_t>({1, 7, 16, random.size(0, 70)});
  c.value_channels = random.one_of<size_t>({1, 16, 33, random.size(0, 70)});
  c.scale = random.one_of<float>({1, 0.125f, -0.5f, 0});
  c.has_mask = random.size(0, 1) == 0;
  c.has_mask_rows = random.size(0, 1) == 0;
  c.has_mask_keys = random.size(0, 3) != 0;
  c.shares_keys = random.size(0, 2) == 0;
  c.is_interleaved = random.size(0, 1) == 0;
  c.has_replaced = random.size(0, 1) == 0;
  c.replaces_true = random.size(0, 1) == 0;
  return c;
}

/// Positions of `channels` in each element of the batch, and where they lie.
struct Tensor {
  Batch strides;
  size_t position_stride;
  Floats data;

  Tensor(const Case& c, size_t positions, size_t channels, bool is_shared)
      : strides{c.batch[1] * positions * channels, positions * channels},
        position_stride(channels),
        data(c.batch[0] * c.batch[1] * positions * channels) {
    if (c.is_interleaved) {
      strides[1] = channels;
      position_stride = c.batch[1] * channels;
    }
    if (is_shared) strides[1] = 0;
  }
  DenseOperand operand() const { return {data.data(), strides.data(), position_stride, 1}; }
  float at(size_t b, size_t h, size_t position, size_t channel) const {
    return data[b * strides[0] + h * strides[1] + position * position_stride + channel];
  }
};

struct Problem {
  Case c;
  Tensor query, key, value, out;
  Floats mask;
  Batch mask_strides;
  std::vector<uint8_t> replaced;
  static constexpr float kScore = -1.25f;

  Problem(const Case& given, Random& random)
      : c(given),
        query(c, c.queries, c.channels, false),
        key(c, c.keys, c.channels, c.shares_keys),
        value(c, c.keys, c.value_channels, c.shares_keys),
        out(c, c.queries, c.value_channels, false),
        mask(c.batch[0] * c.queries * c.keys),
        mask_strides{c.queries * c.keys, 0},
        replaced(mask.size()) {
    for (uint8_t& byte : replaced) byte = random.one_of<uint8_t>({0, 0, 1, 63});
    for (Floats* operand : {&query.data, &key.data, &value.data, &mask}) {
      for (float& number : *operand) number = random.number(-2, 2);
    }
  }

  DenseAttentionCall call(Precision precision) {
    DenseAttentionCall call;
    call.batch_rank = c.batch.size();
    call.batch_sizes = c.batch.data();
    call.queries = c.queries;
    call.keys = c.keys;
    call.channels = c.channels;
    call.value_channels = c.value_channels;
    call.query = query.operand();
    call.key = key.operand();
    call.value = value.operand();
    call.scale = c.scale;
    if (c.has_mask) {
      call.mask = {mask.data(), mask_strides.data(), c.has_mask_rows ? c.keys : 0,
                   c.has_mask_keys ? size_t{1} : 0};
    }
    if (c.has_replaced) {
      call.replaced = {replaced.data(),
                       mask_strides.data(),
                       c.has_mask_rows ? c.keys : 0,
                       c.has_mask_keys ? size_t{1} : 0,
                       c.replaces_true,
                       kScore};
    }
    call.out = out.data.data();
    call.out_batch_strides = out.strides.data();
    call.out_position_stride = out.position_stride;
    call.precision = precision;
    return call;
  }

  Floats run(InstructionSet set, size_t threads_count, Precision precision = Precision::Float32) {
    std::fill(out.data.begin(), out.data.end(), 77.0f);
    ManyThreads threads(threads_count);
    const DenseAttentionCall attention = call(precision);
    Aligned scratch(dense_attention_scratch_bytes(attention, threads_count, set));
    dense_attention(attention, scratch.data(), threads, set);
    return out.data;
  }

  float mask_at(size_t b, size_t query_index, size_t key_index) const {
    return c.has_mask ? mask[mask_place(b, query_index, key_index)] : 0;
  }
  bool is_replaced(size_t b, size_t query_index, size_t key_index) const {
    return c.has_replaced &&
           (replaced[mask_place(b, query_index, key_index)] != 0) == c.replaces_true;
  }
  size_t mask_place(size_t b, size_t query_index, size_t key_index) const {
    return b * mask_strides[0] + (c.has_mask_rows ? query_index * c.keys : 0) +
           (c.has_mask_keys ? key_index : 0);
  }

  /// The results of a query.
  std::vector<double> expected(size_t b, size_t h, size_t i) const {
    std::vector<double> weights(c.keys), results(c.value_channels);
    double most = -kInfinity, sum = 0;
    for (size_t j = 0; j < c.keys; ++j) {
      double score = 0;
      for (size_t d = 0; d < c.channels; ++d) {
        score += double(query.at(b, h, i, d)) * key.at(b, h, j, d);
      }
      weights[j] = is_replaced(b, i, j) ? double(kScore) : score * c.scale + mask_at(b, i, j);
      most = std::isnan(weights[j]) || weights[j] > most ? weights[j] : most;
    }
    for (double& weight : weights) sum += weight = std::exp(weight - most);
    for (size_t j = 0; j < c.keys; ++j) {
      for (size_t v = 0; v < c.value_channels; ++v) {
        results[v] += weights[j] / sum * value.at(b, h, j, v);
      }
    }
    return results;
  }

  void expect(const Floats& output, double bound) const {
    for (size_t b = 0; b < c.batch[0]; ++b) {
      for (size_t h = 0; h < c.batch[1]; ++h) {
        for (size_t i = 0; i < c.queries; ++i) {
          const std::vector<double> row = expected(b, h, i);
          for (size_t v = 0; v < c.value_channels; ++v) {
            const size_t at = b * out.strides[0] + h * out.strides[1] + i * out.position_stride + v;
            ASSERT_TRUE(is_near(row[v], output[at], bound))
                << row[v] << " is expected, " << output[at] << " is found; " << c.queries << " x "
                << c.keys << " x " << c.channels << ", " << c.value_channels << " channels";
          }
        }
      }
    }
  }
};

TEST(DenseAttention, MatchesDoublePrecisionOnEveryInstructionSetAndNumberOfThreads) {
  Random random(61);
  for (int i = 0; i < 80; ++i) {
    Problem problem(random_case(random), random);
    for (InstructionSet set : instruction_sets()) {
      SCOPED_TRACE(name_of(set));
      const Floats output = problem.run(set, 1);
      problem.expect(output, tolerance::kAttention);
      if (testing::Test::HasFatalFailure()) return;
      ASSERT_TRUE(same_bits(output, problem.run(set, 3)));
    }
  }
}

TEST(DenseAttention, RoundsFactorsToBfloat16WherePermitted) {
  Random random(62);
  for (int i = 0; i < 20; ++i) {
    Case c = random_case(random);
    c.scale = 0.125f;
    Problem problem(c, random);
    for (InstructionSet set : instruction_sets()) {
      SCOPED_TRACE(name_of(set));
      const Floats output = problem.run(set, 1, Precision::BFloat16);
      // Scores of at most 70 * 4 * 0.125 are off by 2^-8 of that; weights and values by 2^-8 each.
      problem.expect(output, set >= InstructionSet::Avx512Bf16 ? tolerance::kBFloat16Attention
                                                               : tolerance::kAttention);
      if (testing::Test::HasFatalFailure()) return;
      ASSERT_TRUE(same_bits(output, problem.run(set, 3, Precision::BFloat16)));
    }
  }
}

TEST(DenseAttention, ReplacesNaNAndAllScoresOfAQuery) {
  Random random(65);
  Case c = {{1, 2}, 20, 37, 16, 16, 0.25f, true, true, true, false, false, true, false};
  Problem problem(c, random);
  problem.mask[3 * c.keys + 5] = kNaN;
  problem.replaced[3 * c.keys + 5] = 0;
  for (size_t j = 0; j < c.keys; ++j) problem.replaced[7 * c.keys + j] = 0;
  for (InstructionSet set : instruction_sets()) {
    SCOPED_TRACE(name_of(set));
    problem.expect(problem.run(set, 1), tolerance::kAttention);
  }
}

TEST(DenseAttention, HidesKeysByInfinityAndKeepsNaN) {
  Random random(63);
  const Case c = {{1, 2}, 20, 37, 16, 16, 0.25f, true, true, true, false, false};
  Problem problem(c, random);
  for (size_t j = 0; j < c.keys; ++j) {
    if (j % 3 != 1) problem.mask[j] = -kInfinity;             // the first query sees some keys
    problem.mask[c.keys + j] = -kInfinity;                    // the second one none
    problem.mask[2 * c.keys + j] = j == 36 ? 0 : -kInfinity;  // the third one the last
  }
  problem.mask[3 * c.keys + 5] = kNaN;
  problem.mask[4 * c.keys + 36] = kInfinity;
  problem.query.data[5 * 16 + 3] = kNaN;
  problem.query.data[6 * 16 + 3] = kInfinity;
  for (InstructionSet set : instruction_sets()) {
    SCOPED_TRACE(name_of(set));
    const Floats output = problem.run(set, 1);
    problem.expect(output, tolerance::kAttention);
    if (testing::Test::HasFatalFailure()) return;
    EXPECT_TRUE(std::isnan(output[16]));
    EXPECT_EQ(problem.value.at(0, 0, 36, 4), output[2 * 16 + 4]);
    EXPECT_TRUE(std::isnan(output[3 * 16]));
  }
}

TEST(DenseAttention, AddsBlocksOfKeysForAnyMask) {
  Random random(66);
  const Case c = {{1, 1}, 14, 1100, 5, 3, 0.5f, true, true, true, false, false};
  Problem problem(c, random);
  for (size_t j = 0; j < c.keys; ++j) {
    float* const mask = problem.mask.data() + j;
    if (j < 900) mask[0] = -kInfinity;
    if (j >= 100) mask[c.keys] = -kInfinity;
    if (j / 300 != 1) mask[2 * c.keys] = -kInfinity;
    mask[3 * c.keys] = -kInfinity;
    mask[4 * c.keys] = float(j);  // the largest score rises from block to block
    mask[5 * c.keys] = -float(j);
    mask[6 * c.keys] = j == 1000 ? kNaN : 0;
    mask[7 * c.keys] = j == 10 ? kInfinity : 0;
    mask[8 * c.keys] = j < 600 ? -kInfinity : j == 700 ? kNaN : 0;
  }
  for (InstructionSet set : instruction_sets()) {
    SCOPED_TRACE(name_of(set));
    const Floats output = problem.run(set, 1);
    problem.expect(output, tolerance::kAttention);
    if (testing::Test::HasFatalFailure()) return;
    for (const size_t i : {3, 6, 7, 8}) EXPECT_TRUE(std::isnan(output[i * c.value_channels]));
    ASSERT_TRUE(same_bits(output, problem.run(set, 3)));
  }
}

TEST(DenseAttention, HandlesScoresOfWhichOnlyDifferencesAreFinite) {
  Random random(64);
  Problem problem({{1, 1}, 3, 18, 4, 4, 1, false, false, false, false, false}, random);
  for (float& number : problem.query.data) number *= 1e4f;
  for (InstructionSet set : instruction_sets()) {
    for (float output : problem.run(set, 1)) EXPECT_LE(std::fabs(output), 2) << name_of(set);
  }
}

TEST(DenseAttention, NeedsMemoryThatGrowsWithTheNumberOfKeys) {
  Random random(65);
  Problem small({{1, 8}, 1, 1, 64, 64, 1, false, false, false, false, false}, random);
  DenseAttentionCall call = small.call(Precision::Float32);
  for (InstructionSet set : instruction_sets()) {
    call.queries = call.keys = 4096;
    const size_t scratch = dense_attention_scratch_bytes(call, 2, set);
    EXPECT_LE(scratch, 8 * call.queries * call.keys * sizeof(float) / 20) << name_of(set);
    call.queries = call.keys = 8192;
    EXPECT_LE(dense_attention_scratch_bytes(call, 2, set), 2 * scratch + 4096) << name_of(set);
  }
}

}  // namespace
