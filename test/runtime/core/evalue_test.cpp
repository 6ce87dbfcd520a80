// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <gtest/gtest.h>

#include <memory>
#include <type_traits>

#include "runtime/log_capture.h"

using namespace executorch::runtime;
using executorch::aten::ArrayRef;
using executorch::aten::MemoryFormat;
using executorch::aten::Scalar;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::testing::TensorFactory;

namespace {

static_assert(std::is_trivially_copyable_v<EValue>, "copied like two words");
static_assert(!std::is_constructible_v<EValue, int*>, "a pointer is not a bool");

TEST(EValueTest, HoldsNumbers) {
  EXPECT_TRUE(EValue().isNone());
  EXPECT_EQ(EValue(int64_t{3}).toInt(), 3);
  EXPECT_EQ(EValue(2.5).toDouble(), 2.5);
  EXPECT_TRUE(EValue(true).toBool());
  EXPECT_TRUE(EValue(true).isScalar());
  EXPECT_EQ(EValue(Scalar(2.5)).to<double>(), 2.5);
  EXPECT_EQ(EValue(Scalar(true)).tag, Tag::Bool);
  EXPECT_EQ(EValue(int64_t{3}).toScalar().to<int64_t>(), 3);
  EXPECT_EQ(EValue(int64_t{6}).toScalarType(), ScalarType::Float);
  EXPECT_EQ(EValue(int64_t{2}).to<MemoryFormat>(), MemoryFormat::ChannelsLast);
}

TEST(EValueTest, HoldsTensorsByReference) {
  TensorFactory<ScalarType::Float> floats;
  const Tensor tensor = floats.ones({2});
  EValue value(tensor);
  EXPECT_EQ(value.toTensor().unsafeGetTensorImpl(), tensor.unsafeGetTensorImpl());
  value.to<Tensor>().mutable_data_ptr<float>()[0] = 5;
  EXPECT_EQ(tensor.const_data_ptr<float>()[0], 5);
  const EValue copy = value;
  EXPECT_EQ(copy.to<Tensor>().numel(), 2);
  EXPECT_EQ(copy.toOptional<Tensor>()->numel(), 2);
  EXPECT_EQ(EValue(std::make_shared<Tensor>(tensor)).toTensor().numel(), 2);
}

TEST(EValueTest, HoldsTextAndPlainLists) {
  const char characters[] = {'a', 'b'};
  ArrayRef<char> text(characters);
  EXPECT_EQ(EValue(&text).toString(), "ab");
  const double doubles[] = {1, 2};
  ArrayRef<double> double_list(doubles);
  EXPECT_EQ(EValue(&double_list).toDoubleList().size(), 2u);
  const bool bools[] = {true};
  ArrayRef<bool> bool_list(bools);
  EXPECT_TRUE(EValue(&bool_list).to<ArrayRef<bool>>()[0]);
}

TEST(EValueTest, AnIntListFollowsItsItems) {
  EValue values[] = {EValue(int64_t{1}), EValue(int64_t{2})};
  EValue* items[] = {&values[1], &values[0], &values[1]};
  int64_t unwrapped[3];
  BoxedEvalueList<int64_t> list(items, unwrapped, 3);
  EValue value(&list);
  EXPECT_EQ(value.toIntList()[0], 2);
  values[1] = EValue(int64_t{7});
  EXPECT_EQ(value.toIntList()[2], 7);
  EXPECT_EQ(list.wrapped(1), &values[0]);
  EXPECT_EQ(list.size(), 3u);
}

TEST(EValueTest, TensorListsAndTheirAbsentTensors) {
  TensorFactory<ScalarType::Float> floats;
  EValue values[] = {EValue(floats.ones({2})), EValue()};
  EValue* tensors[] = {&values[0]};
  alignas(Tensor) unsigned char tensor_memory[sizeof(Tensor)];
  BoxedEvalueList<Tensor> list(tensors, reinterpret_cast<Tensor*>(tensor_memory), 1);
  EXPECT_EQ(EValue(&list).toTensorList()[0].numel(), 2);
  EValue* optionals[] = {&values[0], &values[1], nullptr};
  std::optional<Tensor> optional_memory[3];
  BoxedEvalueList<std::optional<Tensor>> optional_list(optionals, optional_memory, 3);
  const auto unwrapped = EValue(&optional_list).toListOptionalTensor();
  EXPECT_TRUE(unwrapped[0].has_value());
  EXPECT_FALSE(unwrapped[1].has_value());
  EXPECT_FALSE(unwrapped[2].has_value());
}

TEST(EValueTest, TryToReturnsInvalidTypeInsteadOfEndingTheProgram) {
  LogCapture log;
  const EValue number(int64_t{3});
  EXPECT_EQ(*number.tryToInt(), 3);
  EXPECT_EQ(number.tryToDouble().error(), Error::InvalidType);
  EXPECT_EQ(number.tryToTensor().error(), Error::InvalidType);
  EXPECT_EQ(number.tryToString().error(), Error::InvalidType);
  EXPECT_EQ(number.tryToIntList().error(), Error::InvalidType);
  EXPECT_EQ(number.tryToTensorList().error(), Error::InvalidType);
  EXPECT_EQ(number.tryToListOptionalTensor().error(), Error::InvalidType);
  EXPECT_EQ(number.tryToScalar()->to<int64_t>(), 3);
  EXPECT_EQ(number.tryToOptional<double>().error(), Error::InvalidType);
  EXPECT_FALSE(EValue().tryToOptional<double>()->has_value());
  EXPECT_EQ(**number.tryToOptional<int64_t>(), 3);
  EXPECT_EQ(EValue().tryToScalarType().error(), Error::InvalidType);
}

TEST(EValueTest, AListWithAnItemOfAnotherKindIsAnError) {
  LogCapture log;
  EValue values[] = {EValue(int64_t{1}), EValue(2.0)};
  EValue* items[] = {&values[0], &values[1]};
  int64_t unwrapped[2];
  BoxedEvalueList<int64_t> list(items, unwrapped, 2);
  EXPECT_EQ(EValue(&list).tryToIntList().error(), Error::InvalidType);
  EXPECT_TRUE(log.contains("item 1 of a list of 2"));
  std::optional<Tensor> optional_memory[2];
  BoxedEvalueList<std::optional<Tensor>> tensors(items, optional_memory, 2);
  EXPECT_EQ(EValue(&tensors).tryToListOptionalTensor().error(), Error::InvalidType);
}

TEST(EValueTest, ANullItemOrANullListIsAnError) {
  LogCapture log;
  EValue number(int64_t{1});
  EValue* items[] = {&number, nullptr};
  int64_t numbers[2];
  BoxedEvalueList<int64_t> list(items, numbers, 2);
  EXPECT_EQ(list.tryGet().error(), Error::InvalidState);
  EXPECT_EQ(EValue(&list).tryToIntList().error(), Error::InvalidState);
  EXPECT_TRUE(log.contains("item 1 of a list of 2 is null")) << log.text();
  EValue* none[] = {nullptr};
  alignas(Tensor) uint8_t memory[sizeof(Tensor)];
  BoxedEvalueList<Tensor> tensors(none, reinterpret_cast<Tensor*>(memory), 1);
  EXPECT_EQ(EValue(&tensors).tryToTensorList().error(), Error::InvalidState);
  for (const Tag tag : {Tag::String, Tag::ListInt, Tag::ListBool, Tag::ListDouble, Tag::ListTensor,
                        Tag::ListOptionalTensor}) {
    EValue value;
    value.tag = tag;
    EXPECT_FALSE(value.tryToString().ok());
    EXPECT_FALSE(value.tryToIntList().ok());
    EXPECT_FALSE(value.tryToBoolList().ok());
    EXPECT_FALSE(value.tryToDoubleList().ok());
    EXPECT_FALSE(value.tryToTensorList().ok());
    EXPECT_FALSE(value.tryToListOptionalTensor().ok());
  }
}

TEST(EValueDeathTest, ReadingANullListOrANullItemEndsTheProgram) {
  EValue value;
  value.tag = Tag::ListInt;
  EXPECT_DEATH(value.toIntList(), "EValue int list pointer is null");
  value.tag = Tag::String;
  EXPECT_DEATH(value.toString(), "EValue string pointer is null");
  EValue* none[] = {nullptr};
  alignas(Tensor) uint8_t memory[sizeof(Tensor)];
  BoxedEvalueList<Tensor> tensors(none, reinterpret_cast<Tensor*>(memory), 1);
  EXPECT_DEATH(EValue(&tensors).toTensorList(), "item 0 of a list of 1 is null");
}

TEST(EValueDeathTest, ReadingAnotherKindEndsTheProgram) {
  const EValue number(int64_t{3});
  EXPECT_DEATH(number.toTensor(), "EValue is not a tensor: its kind is int");
  EXPECT_DEATH(number.toDouble(), "kind");
  EXPECT_DEATH(EValue(static_cast<ArrayRef<bool>*>(nullptr)), "pointer cannot be null");
}

TEST(TagTest, HasNames) {
  EXPECT_STREQ(tag_to_string(Tag::ListOptionalTensor), "ListOptionalTensor");
  EXPECT_STREQ(tag_to_string(static_cast<Tag>(99)), "Unknown");
  char buffer[kTagNameBufferSize];
  EXPECT_EQ(tag_to_string(Tag::ListOptionalTensor, buffer, sizeof(buffer)), 18u);
  EXPECT_STREQ(buffer, "ListOptionalTensor");
  EXPECT_EQ(tag_to_string(Tag::Double, buffer, 3), 6u);
  EXPECT_STREQ(buffer, "Do");
}

}  // namespace
