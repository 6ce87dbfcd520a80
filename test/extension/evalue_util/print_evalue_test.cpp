// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/evalue_util/print_evalue.h>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <sstream>

#include <executorch/extension/tensor/tensor.h>

namespace {

using executorch::aten::ArrayRef;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::extension::evalue_edge_items;
using executorch::extension::make_tensor_ptr;
using executorch::runtime::BoxedEvalueList;
using executorch::runtime::EValue;
using executorch::runtime::Tag;

std::string text(const EValue& value, long edge_items = 0) {
  std::ostringstream stream;
  stream << evalue_edge_items(edge_items) << value;
  return stream.str();
}

std::string text_of(const std::vector<double>& numbers, long edge_items = 0) {
  ArrayRef<double> list(numbers.data(), numbers.size());
  return text(EValue(&list), edge_items);
}

std::string text_of_first(size_t count, long edge_items) {
  std::vector<double> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  return text_of(numbers, edge_items);
}

std::string string_text(std::string string) {
  ArrayRef<char> characters(string.data(), string.size());
  return text(EValue(&characters));
}

TEST(PrintEValueTest, PrintsPlainValues) {
  EXPECT_EQ(text(EValue()), "None");
  EXPECT_EQ(text(EValue(int64_t{-3})), "-3");
  EXPECT_EQ(text(EValue(true)), "True");
  EXPECT_EQ(text(EValue(false)), "False");
  EXPECT_EQ(string_text(""), R"("")");
  EXPECT_EQ(string_text(R"(a "b" \c)"), R"("a \"b\" \\c")");
}

TEST(PrintEValueTest, EndsWholeDoublesWithAPoint) {
  EXPECT_EQ(text(EValue(0.0)), "0.");
  EXPECT_EQ(text(EValue(-0.0)), "-0.");
  EXPECT_EQ(text(EValue(-10.0)), "-10.");
  EXPECT_EQ(text(EValue(10.1)), "10.1");
  EXPECT_EQ(text(EValue(1e20)), "1e+20");
  EXPECT_EQ(text(EValue(-INFINITY)), "-inf");
  EXPECT_EQ(text(EValue(NAN)), "nan");
}

TEST(PrintEValueTest, PrintsTensorsOfEveryKindOfNumber) {
  EXPECT_EQ(text(*make_tensor_ptr({2, 2}, std::vector<float>{1, 2.2f, INFINITY, 0})),
            "tensor(sizes=[2, 2], [1., 2.2, inf, 0.])");
  EXPECT_EQ(text(*make_tensor_ptr({2}, std::vector<int8_t>{65, -1})),
            "tensor(sizes=[2], [65, -1])");
  EXPECT_EQ(text(*make_tensor_ptr({1}, std::vector<double>{2}, {}, {}, ScalarType::Half)),
            "tensor(sizes=[1], [2.])");
  EXPECT_EQ(text(*make_tensor_ptr({2}, std::vector<bool>{true, false})),
            "tensor(sizes=[2], [True, False])");
  EXPECT_EQ(text(*make_tensor_ptr({1}, std::vector<uint64_t>{UINT64_MAX})),
            "tensor(sizes=[1], [18446744073709551615])");
  EXPECT_EQ(text(*executorch::extension::empty({0, 3})), "tensor(sizes=[0, 3], [])");
  EXPECT_EQ(text(*executorch::extension::scalar_tensor(7)), "tensor(sizes=[], [7.])");
}

TEST(PrintEValueTest, PrintsAnyByteOfABoolThatIsNotZeroAsTrue) {
  uint8_t bytes[] = {0, 1, 2, 0xFF};
  EXPECT_EQ(text(*executorch::extension::from_blob(bytes, {4}, ScalarType::Bool)),
            "tensor(sizes=[4], [False, True, True, True])");
}

TEST(PrintEValueTest, PrintsThatATensorHasNoData) {
  EXPECT_EQ(text(*executorch::extension::from_blob(nullptr, {2})), "tensor(sizes=[2], <no data>)");
}

TEST(PrintEValueTest, PrintsTheLengthOfListsAndTheirFirstAndLastThreeItems) {
  EXPECT_EQ(text_of({}), "(len=0)[]");
  EXPECT_EQ(text_of({-1, 0, NAN, 3.5}), "(len=4)[-1., 0., nan, 3.5]");
  EXPECT_EQ(text_of_first(6, 0), "(len=6)[0., 1., 2., 3., 4., 5.]");
  EXPECT_EQ(text_of_first(7, -5), "(len=7)[0., 1., 2., ..., 4., 5., 6.]");
  EXPECT_EQ(text_of_first(7, 1), "(len=7)[0., ..., 6.]");
  EXPECT_EQ(text_of_first(7, 20), "(len=7)[0., 1., 2., 3., 4., 5., 6.]");
}

TEST(PrintEValueTest, TheNumberOfEdgeItemsStaysWithTheStream) {
  const auto tensor = make_tensor_ptr({4}, std::vector<int32_t>{1, 2, 3, 4});
  std::ostringstream stream;
  stream << evalue_edge_items(1) << EValue(*tensor) << EValue(*tensor);
  EXPECT_EQ(stream.str(), "tensor(sizes=[4], [1, ..., 4])tensor(sizes=[4], [1, ..., 4])");
  EXPECT_EQ(text(*tensor), "tensor(sizes=[4], [1, 2, 3, 4])");
}

TEST(PrintEValueTest, SpreadsMoreThanTenItemsOverLines) {
  EXPECT_EQ(text_of_first(11, 1000),
            "(len=11)[\n"
            "  0., 1., 2., 3., 4., 5., 6., 7., 8., 9., \n"
            "  10., \n"
            "]");
  EXPECT_EQ(text_of_first(30, 10),
            "(len=30)[\n"
            "  0., 1., 2., 3., 4., 5., 6., 7., 8., 9., \n"
            "  ...,\n"
            "  20., 21., 22., 23., 24., 25., 26., 27., 28., 29., \n"
            "]");
  EXPECT_EQ(text_of_first(30, 11),
            "(len=30)[\n"
            "  0., 1., 2., 3., 4., 5., 6., 7., 8., 9., \n"
            "  10., \n"
            "  ...,\n"
            "  19., \n"
            "  20., 21., 22., 23., 24., 25., 26., 27., 28., 29., \n"
            "]");
  EXPECT_EQ(text(*executorch::extension::ones({5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})),
            "tensor(sizes=[\n"
            "  5, 1, 1, 1, 1, 1, 1, 1, 1, 1, \n"
            "  1, \n"
            "], [1., 1., 1., 1., 1.])");
}

TEST(PrintEValueTest, PrintsSeveralTensorsOneALine) {
  const auto tensor = make_tensor_ptr({2}, std::vector<float>{1, 2});
  EValue value(*tensor);
  EValue* items[] = {&value, nullptr};
  std::optional<Tensor> tensors[2];
  BoxedEvalueList<std::optional<Tensor>> two(items, tensors, 2);
  EXPECT_EQ(text(EValue(&two)),
            "(len=2)[\n"
            "  [0]: tensor(sizes=[2], [1., 2.]),\n"
            "  [1]: None,\n"
            "]");
  BoxedEvalueList<std::optional<Tensor>> one(items, tensors, 1);
  EXPECT_EQ(text(EValue(&one)), "(len=1)[tensor(sizes=[2], [1., 2.])]");
}

TEST(PrintEValueTest, PrintsWhatIsWrongWithAListOrATag) {
  EValue number(2.0);
  EValue* items[] = {&number};
  int64_t numbers[1];
  BoxedEvalueList<int64_t> list(items, numbers, 1);
  EXPECT_EQ(text(EValue(&list)), "<Error::InvalidType>");
  EValue value;
  value.tag = static_cast<Tag>(5555);
  EXPECT_EQ(text(value), "<Unknown EValue tag 5555>");
}

}  // namespace
