// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/kernel/boxing.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "runtime/log_capture.h"

using namespace executorch::runtime;
using executorch::aten::ArrayRef;
using executorch::aten::MemoryFormat;
using executorch::aten::Scalar;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::testing::TensorFactory;

namespace {

std::string g_seen;

Tensor& numbers_out(KernelRuntimeContext&, int64_t i, double d, bool b, const Scalar& s,
                    ScalarType type, Tensor& out) {
  g_seen = std::to_string(i) + " " + std::to_string(d) + " " + std::to_string(b) + " " +
           std::to_string(s.as<double>()) + " " + std::to_string(static_cast<int>(type));
  return out;
}

std::tuple<Tensor&, Tensor&> lists_out(ArrayRef<int64_t> ints, ArrayRef<double> doubles,
                                       ArrayRef<bool> bools, std::string_view text, Tensor& out0,
                                       Tensor& out1) {
  g_seen = std::to_string(ints.size()) + std::to_string(doubles.size()) +
           std::to_string(bools.size()) + std::string(text);
  return {out0, out1};
}

void tensors_out(KernelRuntimeContext& context, ArrayRef<Tensor> tensors,
                 ArrayRef<std::optional<Tensor>> optionals, ArrayRef<Tensor> out) {
  g_seen = std::to_string(tensors.size()) + std::to_string(optionals.size()) +
           std::to_string(out.size());
  context.fail(Error::NotSupported);
}

Tensor& optional_out(KernelRuntimeContext&, const std::optional<Tensor>& tensor,
                     std::optional<int64_t> i, std::optional<double> d, std::optional<bool> b,
                     const std::optional<Scalar>& s, std::optional<ArrayRef<int64_t>> ints,
                     std::optional<ScalarType> type, std::optional<MemoryFormat> format,
                     std::optional<std::string_view> text, Tensor& out) {
  for (const bool has :
       {tensor.has_value(), i.has_value(), d.has_value(), b.has_value(), s.has_value(),
        ints.has_value(), type.has_value(), format.has_value(), text.has_value()}) {
    g_seen += has ? '1' : '0';
  }
  return out;
}

int g_calls = 0;
void nothing() { ++g_calls; }

constexpr Kernel kNumbers = make_kernel<&numbers_out>("test::numbers.out");
constexpr Kernel kOptional = make_kernel<optional_out>("test::optional.out", "v1/6;0");

Tensor& other_out(const Tensor&, const Tensor&, Tensor& out) { return out; }
Tensor& another_out(KernelRuntimeContext&, Tensor, const Tensor&, Tensor& out) { return out; }

class BoxingTest : public ::testing::Test {
 protected:
  void SetUp() override { g_seen.clear(); }

  Error check(const Kernel& kernel) {
    point();
    return kernel.check_({pointers_.data(), pointers_.size()});
  }
  Error run(const Kernel& kernel) {
    point();
    KernelRuntimeContext context;
    kernel.op_(context, {pointers_.data(), pointers_.size()});
    return context.failure_state();
  }
  void point() {
    pointers_.clear();
    for (EValue& value : values_) {
      pointers_.push_back(&value);
    }
  }

  TensorFactory<ScalarType::Float> floats_;
  std::vector<EValue> values_;
  std::vector<EValue*> pointers_;
  LogCapture log_;
};

TEST_F(BoxingTest, ReadsNumbers) {
  values_ = {int64_t{3}, 2.5, true, 4.5, int64_t{6}, floats_.ones({1})};
  ASSERT_EQ(check(kNumbers), Error::Ok);
  EXPECT_EQ(run(kNumbers), Error::Ok);
  EXPECT_EQ(g_seen, "3 2.500000 1 4.500000 6");
}

TEST_F(BoxingTest, AnIntIsAFloatAndAnyNumberIsAScalar) {
  values_ = {int64_t{3}, int64_t{2}, false, true, int64_t{1000}, floats_.ones({1})};
  ASSERT_EQ(check(kNumbers), Error::Ok);
  EXPECT_EQ(run(kNumbers), Error::Ok);
  // A number that is not a ScalarType does not become one by losing its upper bits.
  EXPECT_EQ(g_seen,
            "3 2.000000 0 1.000000 " + std::to_string(static_cast<int>(ScalarType::NumOptions)));
}

TEST_F(BoxingTest, TheCheckNamesArgumentAndKinds) {
  values_ = {int64_t{3}, 2.5, true, 4.5, int64_t{6}, int64_t{7}};
  EXPECT_EQ(check(kNumbers), Error::InvalidType);
  EXPECT_TRUE(log_.contains("argument 5: expected Tensor, found Int")) << log_.text();
  values_[5] = floats_.ones({1});
  values_[1] = EValue();
  EXPECT_EQ(check(kNumbers), Error::InvalidType);
  EXPECT_TRUE(log_.contains("argument 1: expected Double or Int, found None")) << log_.text();
  values_.pop_back();
  EXPECT_EQ(check(kNumbers), Error::InvalidArgument);
  EXPECT_TRUE(log_.contains("takes 6 arguments, the program gives it 5")) << log_.text();
}

TEST_F(BoxingTest, ReadsListsTextAndSeveralOutputs) {
  constexpr Kernel kernel = make_kernel<&lists_out>("test::lists.out");
  EValue two(int64_t{2});
  EValue* items[] = {&two, &two};
  int64_t ints[2];
  BoxedEvalueList<int64_t> int_list(items, ints, 2);
  const double doubles[] = {1, 2, 3};
  ArrayRef<double> double_list(doubles);
  const bool bools[] = {true};
  ArrayRef<bool> bool_list(bools);
  const char characters[] = {'h', 'i'};
  ArrayRef<char> text(characters);
  values_ = {&int_list, &double_list, &bool_list, &text, floats_.ones({1}), floats_.ones({1})};
  ASSERT_EQ(check(kernel), Error::Ok);
  EXPECT_EQ(run(kernel), Error::Ok);
  EXPECT_EQ(g_seen, "231hi");
  two = EValue(2.0);
  EXPECT_EQ(check(kernel), Error::InvalidType);
  EXPECT_TRUE(log_.contains("argument 0: a list with an item of another kind"));
}

TEST_F(BoxingTest, ReadsTensorListsAndTheContextFails) {
  constexpr Kernel kernel = make_kernel<&tensors_out>("test::tensors.out");
  EValue tensor(floats_.ones({1}));
  EValue* items[] = {&tensor, &tensor};
  std::vector<Tensor> memory(2, floats_.ones({1}));
  BoxedEvalueList<Tensor> list(items, memory.data(), 2);
  EValue* optional_items[] = {nullptr};
  std::optional<Tensor> optional_memory[1];
  BoxedEvalueList<std::optional<Tensor>> optionals(optional_items, optional_memory, 1);
  values_ = {&list, &optionals, &list};
  ASSERT_EQ(check(kernel), Error::Ok);
  EXPECT_EQ(run(kernel), Error::NotSupported);
  EXPECT_EQ(g_seen, "212");
  tensor = EValue(int64_t{1});
  EXPECT_EQ(check(kernel), Error::InvalidType);
}

TEST_F(BoxingTest, OptionalArgumentsMayBeNone) {
  values_ = std::vector<EValue>(9);
  values_.push_back(floats_.ones({1}));
  ASSERT_EQ(check(kOptional), Error::Ok);
  EXPECT_EQ(run(kOptional), Error::Ok);
  EXPECT_EQ(g_seen, "000000000");
  EXPECT_STREQ(kOptional.kernel_key_.data(), "v1/6;0");

  g_seen.clear();
  BoxedEvalueList<int64_t> empty(nullptr, nullptr, 0);
  const char characters[] = {'h'};
  ArrayRef<char> text(characters);
  values_ = {floats_.ones({1}), int64_t{1}, 1.0, true, 1.0, &empty, int64_t{6}, int64_t{0}, &text,
             floats_.ones({1})};
  ASSERT_EQ(check(kOptional), Error::Ok);
  EXPECT_EQ(run(kOptional), Error::Ok);
  EXPECT_EQ(g_seen, "111111111");
}

TEST_F(BoxingTest, AKernelWithoutArgumentsIsOne) {
  constexpr Kernel kernel = make_kernel<&nothing>("test::nothing");
  EXPECT_EQ(check(kernel), Error::Ok);
  EXPECT_EQ(run(kernel), Error::Ok);
  EXPECT_EQ(g_calls, 1);
}

TEST_F(BoxingTest, ArgumentsAfterTheLastOneAreNotRead) {  // programs repeat the result there
  constexpr Kernel kernel = make_kernel<&other_out>("test::other.out");
  const Tensor tensor = floats_.ones({1});
  values_ = {tensor, tensor, tensor, tensor};
  EXPECT_EQ(check(kernel), Error::Ok);
  EXPECT_EQ(run(kernel), Error::Ok);
}

TEST_F(BoxingTest, KernelsOfOneSignatureShareTheirCheck) {
  EXPECT_EQ(make_kernel<&other_out>("a").check_, make_kernel<&another_out>("b").check_);
}

TEST_F(BoxingTest, ANullArgumentIsRefused) {
  EValue* arguments[] = {nullptr, nullptr, nullptr};
  EXPECT_EQ(make_kernel<&other_out>("a").check_(Span<EValue* const>(arguments)),
            Error::InvalidArgument);
}

}  // namespace
