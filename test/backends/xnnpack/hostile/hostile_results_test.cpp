// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Hostile payloads that load like valid ones; only their results differ.
#include <gtest/gtest.h>
#include <math.h>
#include <string.h>

#include <limits>
#include <memory>
#include <vector>

#include <backends/xnnpack/hostile/hostile_payloads.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/test/oracle/tolerances.h>

#include "utils/name_of_row.h"

namespace executorch::backends::xnnpack {
namespace {

using fb_xnnpack::Datatype;
using runtime::Error;
using Kind = fb_xnnpack::XNodeUnion;
using Dims = std::vector<uint32_t>;

/// A module, with the program that it reads.
class Loaded final {
 public:
  explicit Loaded(const TestPayload& payload)
      : file_(program_of(payload)),
        module_(std::make_unique<extension::BufferDataLoader>(file_.data(), file_.size())) {}
  extension::Module* operator->() { return &module_; }

 private:
  const testing::ProgramFile file_;
  extension::Module module_;
};

uint32_t add(TestPayload& p, TestValue value) {
  p.values.push_back(std::move(value));
  return static_cast<uint32_t>(p.values.size() - 1);
}

uint32_t slice(TestPayload& p, uint32_t from, uint32_t offset) {
  const uint32_t half = add(p, constant(0, {2, 3, 4}));
  p.nodes.push_back({Kind::StaticSlice, {3, from, half}, {{0, 0, offset}, {2, 3, 4}}});
  return half;
}

uint32_t binary(TestPayload& p, Kind kind, uint32_t a, uint32_t b, Dims dims) {
  const uint32_t result = add(p, constant(0, std::move(dims)));
  p.nodes.push_back({kind, {a, b, result}});
  return result;
}

enum class Table : uint8_t { Cosines, Sines, Both };

/// y = x + x; (y * cos + [-high, low] * sin) * x, where y itself is one or both of the tables.
TestPayload rotation(Table table) {
  const Dims all = {2, 3, 8}, half = {2, 3, 4};
  TestPayload p;
  const uint32_t x = add(p, input(0, all)), out = add(p, output(1, all));
  const uint32_t y = binary(p, Kind::Add, x, x, all);
  const uint32_t cos = table == Table::Sines ? x : y, sin = table == Table::Cosines ? x : y;
  const uint32_t low = slice(p, y, 0), high = slice(p, y, 4);
  const uint32_t negated = add(p, constant(0, half)), turned = add(p, constant(0, all));
  p.nodes.push_back({Kind::Negate, {high, negated}});
  p.nodes.push_back({Kind::Concatenate2, {2, negated, low, kNoId, kNoId, turned}});
  const uint32_t left = binary(p, Kind::Multiply, y, cos, all);
  const uint32_t right = binary(p, Kind::Multiply, turned, sin, all);
  p.nodes.push_back({Kind::Multiply, {binary(p, Kind::Add, left, right, all), x, out}});
  return p;
}

class RotationByItself : public ::testing::TestWithParam<Table> {};

TEST_P(RotationByItself, ReadsTheTableBeforeItWritesTheResult) {
  constexpr size_t kRows = 6, kPairs = 4, kChannels = 8;
  Loaded module(rotation(GetParam()));
  std::vector<float> x(kRows * kChannels);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.25f * static_cast<float>(i % 11) - 1;
  const auto outputs = module->forward(extension::from_blob(x.data(), {2, 3, kChannels}));
  ASSERT_EQ(outputs.error(), Error::Ok);
  const float* const output = (*outputs)[0].toTensor().const_data_ptr<float>();
  for (size_t i = 0; i < x.size(); ++i) {
    const float y = 2 * x[i], cos = GetParam() == Table::Sines ? x[i] : y;
    const float sin = GetParam() == Table::Cosines ? x[i] : y;
    const bool is_low = i % kChannels < kPairs;
    const float turned = is_low ? -2 * x[i + kPairs] : 2 * x[i - kPairs];
    EXPECT_NEAR(output[i], (y * cos + turned * sin) * x[i], tolerance::kLayer) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, RotationByItself,
                         ::testing::Values(Table::Cosines, Table::Sines, Table::Both));

TEST(HostileResults, AFusedClampDoesNotChangeTheWeightsOfALayerLikeIt) {
  // x of 32 ones, times a matrix of ones. One result is quantized again, with a larger scale.
  TestPayload p;
  const auto byte = [](TestValue value, float scale) {
    TestValue typed = quantized(std::move(value), scale);
    typed.zero_point = 0;
    return typed;
  };
  p.constant_fill = 1;
  const uint32_t x = add(p, byte(input(0, {1, 32}), 1));
  const uint32_t weights = hostile_constant(p, {4, 32}, Datatype::QInt8);
  p.values[weights] = byte(p.values[weights], 1);
  const uint32_t product = add(p, byte(constant(0, {1, 4}), 1));
  const uint32_t clamped = add(p, byte(output(1, {1, 4}), 4));
  const uint32_t plain = add(p, byte(output(2, {1, 4}), 1));
  p.nodes = {{Kind::FullyConnected, {x, weights, kNoId, product}},
             {Kind::Clamp, {product, clamped}, {}, /*is_limited=*/true, -100, 100},
             {Kind::FullyConnected, {x, weights, kNoId, plain}}};
  Loaded module(p);
  std::vector<int8_t> ones(32, 1);
  const auto outputs =
      module->forward(extension::from_blob(ones.data(), {1, 32}, aten::ScalarType::Char));
  ASSERT_EQ(outputs.error(), Error::Ok);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ((*outputs)[0].toTensor().const_data_ptr<int8_t>()[i], 8) << i;
    EXPECT_EQ((*outputs)[1].toTensor().const_data_ptr<int8_t>()[i], 32) << i;
  }
}

/// The method "forward" calls x + one, and then other + wrong, whose dtype the payload refuses.
TestProgram program_of_a_failing_call(uint32_t size) {
  TestPayload p;
  p.values = {input(0, {size, size}), input(1, {1}), output(2, {size, size})};
  p.nodes = {{Kind::Add, {0, 1, 2}}};
  MethodWriter w;
  const int32_t delegate = add_delegate(w, p);
  const auto bound = testing::Dynamism::DYNAMIC_BOUND;
  const testing::Sizes sizes(2, static_cast<int32_t>(size));
  const int32_t x = w.input(w.given(testing::Type::FLOAT, sizes, bound));
  const int32_t one = w.input(w.given(testing::Type::FLOAT, {1}));
  const int32_t other = w.input(w.given(testing::Type::FLOAT, sizes, bound));
  const int32_t wrong = w.input(w.given(testing::Type::INT, {1}));
  const int32_t sum = w.output(w.planned(testing::Type::FLOAT, sizes, bound));
  const int32_t none = w.output(w.planned(testing::Type::FLOAT, sizes, bound));
  w.run(testing::delegate(delegate, {x, one, sum}));
  w.run(testing::delegate(delegate, {other, wrong, none}));
  return w.finish();
}

TEST(HostileResults, ACallThatFailsDoesNotLeaveThePlanOfOtherSizes) {
  constexpr int kMany = 8, kFew = 4;
  const testing::ProgramFile file(program_of_a_failing_call(kMany));
  extension::Module module(std::make_unique<extension::BufferDataLoader>(file.data(), file.size()));
  // On the heap: AddressSanitizer reports a read of 64 elements of the 16.
  std::vector<float> many(kMany * kMany, 1), few(kFew * kFew, 1), one = {1};
  std::vector<int32_t> wrong = {1};
  const auto large = extension::from_blob(many.data(), {kMany, kMany});
  const auto small = extension::from_blob(few.data(), {kFew, kFew});
  const auto number = extension::from_blob(one.data(), {1});
  const auto integer = extension::from_blob(wrong.data(), {1}, aten::ScalarType::Int);
  ASSERT_EQ(module.forward({large, number, small, integer}).error(), Error::InvalidArgument);
  ASSERT_EQ(module.forward({small, number, small, integer}).error(), Error::InvalidArgument);
  const auto sum = module.get_output();
  ASSERT_EQ(sum.error(), Error::Ok);
  EXPECT_EQ(sum->toTensor().numel(), kFew * kFew);
}

struct Padding {
  const char* name;
  Datatype datatype;
  float padding;
  /// The integer in the padding.
  int64_t expected;
};
void PrintTo(const Padding& row, std::ostream* out) { *out << row.name; }

class IntegerPadding : public ::testing::TestWithParam<Padding> {};

TEST_P(IntegerPadding, IsANumberOfTheDatatype) {
  const Padding& row = GetParam();
  TestPayload p;
  const auto of = [&](TestValue value) {
    TestValue typed = with(std::move(value), row.datatype);
    const bool is_quantized = row.datatype == Datatype::QInt32;
    typed.quantization = is_quantized ? Quantization::Tensor : Quantization::None;
    typed.zero_point = 0;
    return typed;
  };
  p.values = {of(input(0, {2})), of(output(1, {3}))};
  uint32_t bits = 0;
  memcpy(&bits, &row.padding, sizeof(bits));
  p.nodes = {{Kind::StaticConstantPad, {bits, 0, 1}, {{1}, {0}}}};
  Loaded module(p);
  int32_t words[] = {7, -8};
  uint16_t halves[] = {0x3f80, 0x4000};
  const bool is_word = row.datatype != Datatype::BFloat16;
  void* const data = is_word ? static_cast<void*>(words) : static_cast<void*>(halves);
  const auto outputs = module->forward(extension::from_blob(
      data, {2}, is_word ? aten::ScalarType::Int : aten::ScalarType::BFloat16));
  ASSERT_EQ(outputs.error(), Error::Ok);
  const aten::Tensor& output = (*outputs)[0].toTensor();
  if (is_word) {
    const auto* const numbers = output.const_data_ptr<int32_t>();
    EXPECT_EQ(numbers[0], row.expected);
    EXPECT_EQ(numbers[1], 7);
    EXPECT_EQ(numbers[2], -8);
  } else {
    const auto* const numbers = static_cast<const uint16_t*>(output.const_data_ptr());
    EXPECT_EQ(numbers[0], row.expected);
    EXPECT_EQ(numbers[1], 0x3f80);
    EXPECT_EQ(numbers[2], 0x4000);
  }
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// A scale of 0.5.
INSTANTIATE_TEST_SUITE_P(
    Numbers, IntegerPadding,
    ::testing::Values(Padding{"AnInteger", Datatype::Int32, 3, 3},
                      Padding{"AFraction", Datatype::Int32, -3.75f, -3},
                      Padding{"TooLarge", Datatype::Int32, kInfinity, INT32_MAX},
                      Padding{"TooSmall", Datatype::Int32, -3e9f, INT32_MIN},
                      Padding{"NotANumber", Datatype::Int32, NAN, 0},
                      Padding{"Quantized", Datatype::QInt32, 3, 6},
                      Padding{"TooLargeForIts32Bits", Datatype::QInt32, 2e9f, INT32_MAX},
                      Padding{"QuantizedNotANumber", Datatype::QInt32, NAN, 0},
                      Padding{"OfHalfPrecision", Datatype::BFloat16, 1.5f, 0x3fc0}),
    executorch::testing::NameOfRow());

}  // namespace
}  // namespace executorch::backends::xnnpack
