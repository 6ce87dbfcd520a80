// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/eltwise/eltwise.h>
#include <executorch/kernels/engine/eltwise/lookup.h>
#include <executorch/kernels/engine/eltwise/rotary.h>

#include "support.h"

namespace {

using namespace engine_test;  // NOLINT: the tests' vocabulary

struct Function {
  Unary function;
  double (*exact)(double);
  double bound;  ///< relative to the larger of the result and one part in a thousand
};

constexpr float kA = 0.25f, kB = 1.5f;

const Function kFunctions[] = {
    {Unary::Abs, [](double x) { return std::fabs(x); }, 0},
    {Unary::Ceil, [](double x) { return std::ceil(x); }, 0},
    {Unary::Clamp, [](double x) { return x < kA   ? kA
                                         : x > kB ? double(kB)
                                                  : x; }, 0},
    {Unary::Cos, [](double x) { return std::cos(x); }, tolerance::kElementwise},
    {Unary::Elu, [](double x) { return x < 0 ? kA * std::expm1(x) : x; }, tolerance::kElementwise},
    {Unary::Erf, [](double x) { return std::erf(x); }, tolerance::kErf},
    {Unary::Exp, [](double x) { return double(float(std::exp(x))); }, tolerance::kElementwise},
    {Unary::Floor, [](double x) { return std::floor(x); }, 0},
    {Unary::Gelu,
     [](double x) {
       return std::isinf(x) && x < 0 ? std::nan("") : 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
     },
     tolerance::kGelu},
    {Unary::GeluTanh,
     [](double x) {
       const double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
       return std::isinf(x) && x < 0 ? std::nan("") : 0.5 * x * (1 + std::tanh(inner));
     },
     tolerance::kGelu},
    {Unary::Hardswish, [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; },
     tolerance::kElementwise},
    {Unary::LeakyRelu, [](double x) { return x < 0 ? kA * x : x; }, tolerance::kOneRounding},
    {Unary::Log, [](double x) { return std::log(x); }, tolerance::kElementwise},
    {Unary::Negate, [](double x) { return -x; }, 0},
    {Unary::Reciprocal, [](double x) { return 1 / x; }, tolerance::kOneRounding},
    {Unary::Relu, [](double x) { return x < 0 ? 0 : x; }, 0},
    {Unary::Round, [](double x) { return std::nearbyint(x); }, 0},
    {Unary::Rsqrt, [](double x) { return 1 / std::sqrt(x); }, tolerance::kElementwise},
    {Unary::Sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, tolerance::kElementwise},
    {Unary::Sign, [](double x) { return x > 0   ? 1.0
                                        : x < 0 ? -1.0
                                                : 0.0; }, 0},
    {Unary::Silu, [](double x) { return x / (1 + std::exp(-x)); }, tolerance::kElementwise},
    {Unary::Sin, [](double x) { return std::sin(x); }, tolerance::kElementwise},
    {Unary::Sqrt, [](double x) { return std::sqrt(x); }, tolerance::kOneRounding},
    {Unary::Square, [](double x) { return double(float(x * x)); }, tolerance::kElementwise},
    {Unary::Tanh, [](double x) { return std::tanh(x); }, tolerance::kElementwise},
};

bool is_gelu(Unary function) { return function == Unary::Gelu || function == Unary::GeluTanh; }

#define ET_UNARY(name) Unary::name,
constexpr Unary kUnaryList[] = {
#include <executorch/kernels/engine/eltwise/functions.inc>
};
#undef ET_UNARY

TEST(Unary, EveryFunctionOfTheListIsTested) {
  for (Unary listed : kUnaryList) {
    EXPECT_TRUE(std::any_of(std::begin(kFunctions), std::end(kFunctions), [&](const Function& f) {
      return f.function == listed;
    })) << int(listed);
  }
}

Floats apply(Unary function, const Floats& in, Threads& threads, InstructionSet set) {
  Floats out(in.size());
  unary({function, kA, kB, in.data(), out.data(), in.size()}, threads, set);
  return out;
}

TEST(Unary, MatchesDoublePrecisionOnEveryInstructionSet) {
  Random random(31);
  ManyThreads threads(2);
  for (const Function& f : kFunctions) {
    for (float reach : {3.0f, 20.0f, 200.0f}) {
      const Floats in = random.floats(random.size(1, 900), -reach, reach);
      for (InstructionSet set : instruction_sets()) {
        const Floats out = apply(f.function, in, threads, set);
        for (size_t i = 0; i < in.size(); ++i) {
          const double expected = f.exact(in[i]);
          const double bound =
              f.bound * std::max(std::fabs(expected), 1e-3) + tolerance::kSubnormal;
          ASSERT_TRUE(is_near(expected, out[i],
                              bound + (is_gelu(f.function)        ? tolerance::kGeluNearZero
                                       : f.function == Unary::Log ? tolerance::kLogNearOne
                                                                  : 0)))
              << int(f.function) << " of " << in[i] << ": " << out[i] << ", expected " << expected
              << " " << name_of(set);
        }
      }
    }
  }
}

TEST(Unary, NoRoundingTakesAFunctionBeyondItsRange) {
  struct Range {
    Unary function;
    float least;
    float largest;
  };
  const Range ranges[] = {{Unary::Cos, -1, 1},    {Unary::Erf, -1, 1}, {Unary::Exp, 0, kInfinity},
                          {Unary::Sigmoid, 0, 1}, {Unary::Sin, -1, 1}, {Unary::Tanh, -1, 1}};
  CallingThread alone;
  Floats in(1000000);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = std::exp(float(i) * 1e-5f - 7) * (i % 2 == 0 ? 1 : -1);  // to 20
  }
  for (const Range& range : ranges) {
    for (InstructionSet set : instruction_sets()) {
      const Floats out = apply(range.function, in, alone, set);
      for (size_t i = 0; i < in.size(); ++i) {
        ASSERT_TRUE(range.least <= out[i] && out[i] <= range.largest)
            << int(range.function) << " of " << in[i] << ": " << out[i] - range.largest
            << " beyond its range " << name_of(set);
      }
    }
  }
}

TEST(Unary, FollowsIeeeArithmeticAtTheEdgesOfNumbers) {
  CallingThread alone;
  const float edges[] = {0.0f,   -0.0f,  kNaN,    kInfinity, -kInfinity, 3e38f,
                         -3e38f, 1e-40f, -1e-40f, 88.8f,     89.0f,      -104.5f};
  for (const Function& f : kFunctions) {
    if (f.function == Unary::Silu || f.function == Unary::Hardswish || f.function == Unary::Sin ||
        f.function == Unary::Cos) {
      continue;  // their limits have rules of their own, tested below
    }
    for (float edge : edges) {
      for (size_t place : {0, 5, 16}) {
        Floats in(17, 1);
        in[place] = edge;
        const float expected = float(f.exact(edge));
        for (InstructionSet set : instruction_sets()) {
          const Floats out = apply(f.function, in, alone, set);
          const double bound = tolerance::kActivation * std::fabs(expected) + tolerance::kSubnormal;
          ASSERT_TRUE(is_near(expected, out[place], bound))
              << int(f.function) << " of " << edge << ": " << out[place] << ", expected "
              << expected << " " << name_of(set);
        }
      }
    }
  }
}

TEST(Unary, NaNStaysNaNInEveryFunctionButItsSignIsZero) {
  CallingThread alone;
  for (const Function& f : kFunctions) {
    for (size_t place = 0; place < 19; ++place) {
      Floats in(19, 0.5f);
      in[place] = kNaN;
      for (InstructionSet set : instruction_sets()) {
        const Floats out = apply(f.function, in, alone, set);
        for (size_t i = 0; i < 19; ++i) {
          const bool stays = i == place && f.function != Unary::Sign;
          ASSERT_EQ(stays, std::isnan(out[i])) << int(f.function);
        }
        if (f.function == Unary::Sign) {
          ASSERT_EQ(0, out[place]);
        }
      }
    }
  }
}

double exact(Binary function, double a, double b) {
  switch (function) {
    case Binary::Add:
      return a + b;
    case Binary::Subtract:
      return a - b;
    case Binary::Multiply:
      return a * b;
    case Binary::Divide:
      return a / b;
    case Binary::Minimum:
      return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
    case Binary::Maximum:
      return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
    case Binary::SquaredDifference:
      return (a - b) * (a - b);
    case Binary::Power:
      return std::pow(a, b);
    case Binary::CopySign:
      return std::copysign(a, b);
    case Binary::SiluProduct:
      return a / (1 + std::exp(-a)) * b;
    case Binary::Prelu:
      return a < 0 ? a * b : a;
  }
  return 0;
}

TEST(Rotary, RotatesPairsByTheAnglesOfTheirPositionsInPlaceToo) {
  Random random(33);
  for (int i = 0; i < 120; ++i) {
    const size_t pairs = random.one_of<size_t>({1, 3, 4, 8, 17, 32, 37});
    const size_t channels = 2 * pairs + random.one_of<size_t>({0, 0, 5});
    const size_t positions = random.size(0, 5), heads = random.size(1, 4);
    const bool is_interleaved = random.size(0, 1) == 0, is_repeated = random.size(0, 3) == 0;
    const size_t second = random.size(0, 1) * pairs, table = pairs + second;
    const Floats in = random.floats((is_repeated ? 1 : positions) * heads * channels),
                 cos = random.floats(positions * table), sin = random.floats(positions * table);
    const size_t sizes[] = {positions, heads},
                 in_strides[] = {is_repeated ? 0 : heads * channels, channels},
                 strides[] = {table, 0};
    for (InstructionSet set : instruction_sets()) {
      for (const bool is_in_place : {false, true}) {
        if (is_in_place && is_repeated) continue;
        ManyThreads threads(3);
        Floats out(positions * heads * channels);
        for (size_t at = 0; is_in_place && at < in.size(); ++at) out[at] = in[at];
        rotate_pairs({is_in_place ? out.data() : in.data(), cos.data(), sin.data(), out.data(), 2,
                      sizes, in_strides, strides, strides, channels, pairs, is_interleaved, second},
                     threads, set);
        for (size_t at = 0; at < out.size(); ++at) {
          const size_t position = at / channels / heads, head = at / channels % heads;
          const size_t channel = at % channels;
          const float* const x = in.data() + position * in_strides[0] + head * channels;
          const float *const c = cos.data() + position * table, *s = sin.data() + position * table;
          double expected = x[channel];
          if (channel < 2 * pairs) {
            const size_t pair = is_interleaved ? channel / 2 : channel % pairs;
            const float low = x[is_interleaved ? 2 * pair : pair];
            const float high = x[is_interleaved ? 2 * pair + 1 : pair + pairs];
            const bool is_low = is_interleaved ? channel % 2 == 0 : channel < pairs;
            expected = is_low ? double(low) * c[pair] - double(high) * s[pair]
                              : double(high) * c[second + pair] + double(low) * s[second + pair];
          }
          ASSERT_TRUE(is_near(expected, out[at], tolerance::kElementwise))
              << name_of(set) << " at " << at;
        }
      }
    }
  }
}

TEST(Binary, BroadcastsInEveryDimension) {
  Random random(32);
  for (int i = 0; i < 200; ++i) {
    const size_t rank = random.size(0, 5);
    size_t sizes[5], left_strides[5], right_strides[5], left_count = 1, right_count = 1, count = 1;
    for (size_t d = rank; d-- > 0;) {
      sizes[d] = random.one_of<size_t>({1, 2, 3, 7, 33});
      const size_t broadcast = random.size(0, 3);
      left_strides[d] = broadcast == 1 ? 0 : left_count;
      right_strides[d] = broadcast == 2 ? 0 : right_count;
      if (broadcast != 1) left_count *= sizes[d];
      if (broadcast != 2) right_count *= sizes[d];
      count *= sizes[d];
    }
    if (count > 20000) continue;
    Floats left = random.floats(left_count, 0.1f, 2), right = random.floats(right_count, -2, 2);
    for (float special : {kNaN, kInfinity}) {
      if (random.size(0, 3) == 0) left[random.size(0, left_count - 1)] = special;
      if (random.size(0, 3) == 0) right[random.size(0, right_count - 1)] = special;
    }
    const auto function = Binary(random.size(0, 10));
    const bool is_clamped = random.size(0, 1) == 0;
    for (InstructionSet set : instruction_sets()) {
      for (size_t thread_count : {1, 3}) {
        ManyThreads threads(thread_count);
        Floats out(count);
        BinaryCall call = {function,      rank,        sizes,        left_strides,
                           right_strides, left.data(), right.data(), out.data()};
        if (is_clamped) {
          call.clamp_min = -0.5f;
          call.clamp_max = 1;
        }
        binary(call, threads, set);
        for (size_t at = 0; at < count; ++at) {
          size_t index = at, l = 0, r = 0;
          for (size_t d = rank; d-- > 0;) {
            l += index % sizes[d] * left_strides[d];
            r += index % sizes[d] * right_strides[d];
            index /= sizes[d];
          }
          double expected = exact(function, left[l], right[r]);
          if (is_clamped && !std::isnan(expected))
            expected = std::min(std::max(expected, -0.5), 1.0);
          ASSERT_TRUE(is_near(expected, out[at],
                              tolerance::kElementwise * std::max(std::fabs(expected), 1.0)))
              << int(function) << " of " << left[l] << ", " << right[r] << ": " << out[at];
        }
      }
    }
  }
}

TEST(Binary, NothingIsWrittenForASizeOfZero) {
  CallingThread alone;
  const size_t sizes[2] = {3, 0}, strides[2] = {0, 1};
  float out = 5;
  binary({Binary::Add, 2, sizes, strides, strides, &out, &out, &out}, alone);
  EXPECT_EQ(5, out);
}

TEST(Lookup, GivesTheTablesResultOfEveryByte) {
  std::mt19937 random(1);
  uint8_t results[LookupTable::kSize];
  for (uint8_t& result : results) result = static_cast<uint8_t>(random());
  const LookupTable table(results);
  ManyThreads threads(2);
  for (const size_t count :
       {size_t{0}, size_t{1}, size_t{31}, size_t{32}, size_t{300}, kElementsOfItem + 129}) {
    std::unique_ptr<uint8_t[]> in(new uint8_t[count]), out(new uint8_t[count]);
    for (size_t i = 0; i < count; ++i) in[i] = static_cast<uint8_t>(i);
    for (const InstructionSet set : instruction_sets()) {
      table.run(in.get(), out.get(), count, threads, set);
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], results[in[i]]) << i << " of " << count;
    }
  }
}

}  // namespace
