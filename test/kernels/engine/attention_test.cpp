// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/attention/attention.h>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include <executorch/runtime/core/portable_type/bfloat16.h>
#include <executorch/runtime/core/portable_type/half.h>
#include <executorch/test/oracle/tolerances.h>

namespace {

namespace engine = executorch::kernels::engine;
using executorch::kernels::engine::attend;
using executorch::kernels::engine::attention_scratch;
using executorch::kernels::engine::AttentionCall;
using executorch::kernels::engine::AttentionType;
using executorch::runtime::etensor::BFloat16;
using executorch::runtime::etensor::Half;

class SeveralThreads final : public engine::Threads {
 public:
  explicit SeveralThreads(size_t count) : count_(count) {}
  size_t count() const override { return count_; }
  void run(size_t tasks, executorch::runtime::FunctionRef<void(size_t)> task) override {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < tasks; ++i) threads.emplace_back([&, i] { task(i); });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  size_t count_;
};

struct Case {
  int64_t queries, first, heads, key_heads, channels;
};

/// Random float32 tensors of [position, head, channel], and a call on them.
struct Problem {
  std::vector<float> query, key, value, mask, out;
  std::vector<uint16_t> reduced_key, reduced_value;
  AttentionCall call;

  explicit Problem(const Case& given, bool has_mask) {
    const int64_t keys = given.first + given.queries;
    std::mt19937 generator(7);
    std::normal_distribution<float> normal;
    query.resize(size_t(given.queries * given.heads * given.channels));
    key.resize(size_t(keys * given.key_heads * given.channels));
    value.resize(key.size());
    mask.resize(size_t(given.queries * keys));
    out.resize(query.size());
    for (auto* operand : {&query, &key, &value, &mask}) {
      for (float& number : *operand) number = normal(generator);
    }
    const int64_t wide = given.heads * given.channels, narrow = given.key_heads * given.channels;
    call.query = {query.data(), AttentionType::Float, 0, wide, given.channels};
    call.key = {key.data(), AttentionType::Float, 0, narrow, given.channels};
    call.value = {value.data(), AttentionType::Float, 0, narrow, given.channels};
    call.out = out.data();
    call.out_position_stride = wide;
    call.out_head_stride = given.channels;
    call.batch = 1;
    call.queries = given.queries;
    call.keys = keys;
    call.heads = given.heads;
    call.key_heads = given.key_heads;
    call.channels = given.channels;
    call.scale = 1 / std::sqrt(float(given.channels));
    call.is_causal = !has_mask;
    call.first_position = given.first;
    if (has_mask) {
      call.mask = mask.data();
      call.mask_stride = keys;
    }
  }

  /// Stores keys and values in 16 bits, and rounds the floats that the formula reads.
  template <class Reduced>
  void reduce(AttentionType type) {
    for (auto* operand : {&key, &value}) {
      auto& stored = operand == &key ? reduced_key : reduced_value;
      for (float& number : *operand) {
        const Reduced rounded(number);
        stored.push_back(rounded.x);
        number = float(rounded);
      }
    }
    call.key.type = call.value.type = type;
    call.key.data = reduced_key.data();
    call.value.data = reduced_value.data();
  }

  void run(engine::Threads& threads, engine::InstructionSet set) {
    std::vector<float> scratch(size_t(attention_scratch(call, threads.count())) / sizeof(float));
    attend(call, threads, scratch.data(), set);
  }

  /// The result of one head of one query, in double.
  std::vector<double> expected(int64_t i, int64_t head) const {
    const int64_t key_head = head / (call.heads / call.key_heads);
    const int64_t seen = call.is_causal ? call.first_position + i + 1 : call.keys;
    std::vector<double> weights(static_cast<size_t>(seen));
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < seen; ++j) {
      double score = 0;
      for (int64_t c = 0; c < call.channels; ++c) {
        score += double(query[size_t((i * call.heads + head) * call.channels + c)]) *
                 double(key[size_t((j * call.key_heads + key_head) * call.channels + c)]);
      }
      score *= double(call.scale);
      if (call.mask != nullptr) score += double(mask[size_t(i * call.keys + j)]);
      weights[size_t(j)] = score;
      most = std::max(most, score);
    }
    for (double& weight : weights) sum += weight = std::exp(weight - most);
    std::vector<double> result(size_t(call.channels), 0.0);
    for (int64_t j = 0; j < seen; ++j) {
      for (int64_t c = 0; c < call.channels; ++c) {
        result[size_t(c)] +=
            weights[size_t(j)] / sum *
            double(value[size_t((j * call.key_heads + key_head) * call.channels + c)]);
      }
    }
    return result;
  }
};

constexpr Case kCases[] = {{1, 0, 1, 1, 8},    {1, 200, 6, 2, 64}, {3, 64, 4, 4, 13},
                           {70, 5, 6, 1, 32},  {130, 0, 3, 3, 16}, {2, 63, 130, 2, 16},
                           {1, 129, 7, 1, 16}, {4, 66, 4, 4, 32},  {1, 70, 2, 2, 128},
                           {25, 90, 3, 1, 48}, {67, 3, 4, 2, 24}};

void expect_formula(Problem& problem, engine::InstructionSet set) {
  engine::CallingThread thread;
  problem.run(thread, set);
  const AttentionCall& call = problem.call;
  for (int64_t i = 0; i < call.queries; ++i) {
    for (int64_t head = 0; head < call.heads; ++head) {
      const auto expected = problem.expected(i, head);
      for (int64_t c = 0; c < call.channels; ++c) {
        const size_t at = size_t((i * call.heads + head) * call.channels + c);
        ASSERT_NEAR(double(problem.out[at]), expected[size_t(c)], tolerance::kActivation);
      }
    }
  }
}

TEST(AttentionTest, EqualsTheFormulaOnEveryInstructionSet) {
  for (const auto set : {engine::InstructionSet::Scalar, engine::InstructionSet::Avx2,
                         engine::InstructionSet::Avx512}) {
    if (set > engine::detected_instruction_set()) continue;
    for (const Case& sizes : kCases) {
      for (const bool has_mask : {false, true}) {
        Problem floats(sizes, has_mask), halves(sizes, has_mask), bfloats(sizes, has_mask);
        halves.reduce<Half>(AttentionType::Half);
        bfloats.reduce<BFloat16>(AttentionType::BFloat16);
        for (Problem* problem : {&floats, &halves, &bfloats}) expect_formula(*problem, set);
      }
    }
  }
}

TEST(AttentionTest, ReadsEveryHalf) {
  // One key, whose value is the result; rows of 16 channels convert in vectors, of 5 in part.
  for (const auto set : {engine::InstructionSet::Scalar, engine::detected_instruction_set()}) {
    for (const int64_t channels : {16, 5}) {
      Problem problem({1, 0, 1, 1, channels}, false);
      problem.reduce<Half>(AttentionType::Half);
      engine::CallingThread thread;
      for (uint32_t bits = 0; bits < (1u << 16); ++bits) {
        problem.reduced_value[bits % size_t(channels)] = uint16_t(bits);
        if (bits % size_t(channels) != size_t(channels) - 1) continue;
        problem.run(thread, set);
        for (size_t c = 0; c < size_t(channels); ++c) {
          const Half half(problem.reduced_value[c], Half::from_bits());
          if (std::isnan(float(half))) {
            ASSERT_TRUE(std::isnan(problem.out[c]));
          } else {
            ASSERT_EQ(problem.out[c], float(half));
          }
        }
      }
    }
  }
}

TEST(AttentionTest, NaNAmongTheScoresGivesNaN) {
  engine::CallingThread thread;
  for (const int64_t queries : {1, 40}) {
    for (const int64_t channels : {16, 5}) {
      const Case sizes{queries, 140 - queries, 2, 1, channels};
      Problem one_key(sizes, false), every_key(sizes, false);
      one_key.key[size_t(70 * channels)] = NAN;
      for (float& number : every_key.key) number = NAN;
      for (Problem* problem : {&one_key, &every_key}) {
        problem->run(thread, engine::instruction_set());
        for (const float number : problem->out) EXPECT_TRUE(std::isnan(number));
      }
    }
  }
}

TEST(AttentionTest, NaNInAQueryStaysInItsRow) {
  constexpr int64_t kQueries = 40, kChannels = 16, kNaN = 7;
  Problem problem({kQueries, 100, 1, 1, kChannels}, false);
  problem.query[size_t(kNaN * kChannels)] = NAN;
  engine::CallingThread thread;
  problem.run(thread, engine::instruction_set());
  for (int64_t i = 0; i < kQueries * kChannels; ++i) {
    EXPECT_EQ(std::isnan(problem.out[size_t(i)]), i / kChannels == kNaN);
  }
}

TEST(AttentionTest, HasTheSameBitsOnAnyNumberOfThreads) {
  for (const Case& sizes : kCases) {
    Problem one(sizes, false), three(sizes, false);
    engine::CallingThread thread;
    SeveralThreads threads(3);
    one.run(thread, engine::instruction_set());
    three.run(threads, engine::instruction_set());
    EXPECT_EQ(one.out, three.out);
  }
}

}  // namespace
