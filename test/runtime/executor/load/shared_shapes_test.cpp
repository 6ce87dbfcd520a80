// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tensors of a file may share the vectors of their sizes and dim order, or repeat their items.
// Verifying and loading do less for a tensor that repeats the shape of the one before, and must
// still see every difference.
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "runtime/executor/loaded_program.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using flatbuffers::Offset;
using runtime::Error;
using Dynamism = fb::TensorShapeDynamism;

constexpr int32_t kElements = 4;
constexpr int64_t kBufferSize = 64;

struct SharingTensor {
  fb::ScalarType type = fb::ScalarType::FLOAT;
  Dynamism dynamism = Dynamism::STATIC;
  uint32_t offset = 0;
  std::vector<int32_t> own_sizes = {};
  std::vector<uint8_t> own_dim_order = {};
};

/// A method whose inputs and outputs are these tensors, without instructions. They have one vector
/// of sizes, {4}, and one dim order, except those with their own.
ProgramFile sharing(const std::vector<SharingTensor>& tensors) {
  flatbuffers::FlatBufferBuilder b;
  const auto sizes = b.CreateVector(std::vector<int32_t>{kElements});
  const auto order = b.CreateVector(std::vector<uint8_t>{0});
  std::vector<Offset<fb::EValue>> values;
  std::vector<int32_t> indices;
  for (const SharingTensor& tensor : tensors) {
    const auto own_sizes = tensor.own_sizes.empty() ? sizes : b.CreateVector(tensor.own_sizes);
    const auto own_order =
        tensor.own_dim_order.empty() ? order : b.CreateVector(tensor.own_dim_order);
    const auto place = fb::CreateAllocationDetails(b, 1, tensor.offset, 0);
    indices.push_back(static_cast<int32_t>(values.size()));
    values.push_back(fb::CreateEValue(b, fb::KernelTypes::Tensor,
                                      fb::CreateTensor(b, tensor.type, 0, own_sizes, own_order,
                                                       false, 0, place, 0, tensor.dynamism)
                                          .Union()));
  }
  const auto name = b.CreateString("forward");
  const auto all_values = b.CreateVector(values);
  const auto interface = b.CreateVector(indices);
  const auto buffers = b.CreateVector(std::vector<int64_t>{0, kBufferSize});
  const std::vector<Offset<fb::ExecutionPlan>> plans = {
      fb::CreateExecutionPlan(b, name, 0, all_values, interface, interface, 0, 0, 0, buffers)};
  b.Finish(fb::CreateProgram(b, 0, b.CreateVector(plans)), "ET12");
  return ProgramFile(std::string(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()));
}

TEST(SharedShapes, AreMeasuredInTheElementsOfEachTensor) {
  const uint32_t last = kBufferSize - kElements * sizeof(float);
  EXPECT_EQ(load_error(sharing({{}, {fb::ScalarType::INT, Dynamism::STATIC, last}})), Error::Ok);
  const LogCapture log;
  EXPECT_EQ(load_error(sharing({{}, {fb::ScalarType::DOUBLE, Dynamism::STATIC, last}})),
            Error::InvalidProgram);
  EXPECT_TRUE(log.contains("tensor 1: 32 bytes at offset 48")) << log.text();
}

TEST(SharedShapes, NeedAPlaceThatIsAlignedToTheElementsOfEachTensor) {
  const LogCapture log;
  EXPECT_EQ(load_error(sharing({{}, {fb::ScalarType::DOUBLE, Dynamism::STATIC, 4}})),
            Error::InvalidProgram);
  EXPECT_TRUE(log.contains("tensor 1: 32 bytes at offset 4 ")) << log.text();
}

TEST(SharedShapes, AreRefusedForAScalarTypeThatDoesNotExist) {
  const LogCapture log;
  EXPECT_EQ(load_error(sharing({{}, {static_cast<fb::ScalarType>(100)}})), Error::InvalidProgram);
  EXPECT_TRUE(log.contains("tensor 1: scalar type 100")) << log.text();
}

TEST(SharedShapes, AreComparedByBothOfTheirVectors) {
  const LogCapture log;
  EXPECT_EQ(load_error(sharing({{}, {fb::ScalarType::FLOAT, Dynamism::STATIC, 0, {2, 2}}})),
            Error::InvalidProgram);
  EXPECT_TRUE(log.contains("tensor 1: 2 sizes and 1 in the dim order")) << log.text();
  EXPECT_EQ(load_error(sharing({{}, {fb::ScalarType::FLOAT, Dynamism::STATIC, 0, {}, {1}}})),
            Error::InvalidProgram);
  EXPECT_TRUE(log.contains("tensor 1: dim order of rank 1")) << log.text();
  EXPECT_EQ(load_error(sharing({{}, {fb::ScalarType::FLOAT, Dynamism::STATIC, 0, {-4}}})),
            Error::InvalidProgram);
  EXPECT_TRUE(log.contains("tensor 1 of rank 1: a size is negative")) << log.text();
}

TEST(SharedShapes, BelongToEachTensorThatIsResized) {
  const SharingTensor fixed;
  const SharingTensor bounded = {fb::ScalarType::FLOAT, Dynamism::DYNAMIC_BOUND, 16};
  LoadedProgram program(sharing({fixed, bounded, fixed, fixed}));
  ASSERT_TRUE(program.ok());
  MethodMemory memory(*program->method_meta("forward"));
  auto method = program->load_method("forward", &memory.manager());
  ASSERT_EQ(method.error(), Error::Ok);
  FloatTensor shorter({1, 2});
  EXPECT_EQ(method->set_input(shorter.value(), 1), Error::Ok);
  EXPECT_EQ(method->set_input(shorter.value(), 0), Error::InvalidArgument);
  for (size_t i = 0; i < 4; ++i) {
    const aten::Tensor& tensor = method->get_output(i).toTensor();
    EXPECT_EQ(tensor.sizes()[0], i == 1 ? 2 : kElements) << i;
    EXPECT_EQ(tensor.strides()[0], 1) << i;
    EXPECT_EQ(tensor.const_data_ptr(), memory.planned(0) + (i == 1 ? 16 : 0)) << i;
  }
}

TEST(SharedShapes, AreComparedByTheItemsOfVectorsThatAreNotShared) {
  const auto with = [](std::vector<int32_t> sizes, std::vector<uint8_t> order) {
    return SharingTensor{fb::ScalarType::FLOAT, Dynamism::STATIC, 0, std::move(sizes),
                         std::move(order)};
  };
  LoadedProgram program(sharing({with({2, 3}, {0, 1}), with({2, 3}, {0, 1}), with({2, 3}, {1, 0}),
                                 with({3, 2}, {1, 0}), with({3, 2}, {0, 1})}));
  ASSERT_TRUE(program.ok());
  MethodMemory memory(*program->method_meta("forward"));
  auto method = program->load_method("forward", &memory.manager());
  ASSERT_EQ(method.error(), Error::Ok);
  const int32_t sizes[] = {2, 2, 2, 3, 3};
  const int32_t strides[][2] = {{3, 1}, {3, 1}, {1, 2}, {1, 3}, {2, 1}};
  for (size_t i = 0; i < std::size(sizes); ++i) {
    const aten::Tensor& tensor = method->get_output(i).toTensor();
    EXPECT_EQ(tensor.sizes()[0], sizes[i]) << i;
    EXPECT_EQ(tensor.strides()[0], strides[i][0]) << i;
    EXPECT_EQ(tensor.strides()[1], strides[i][1]) << i;
  }
  const LogCapture log;
  EXPECT_EQ(load_error(sharing({with({2, 3}, {0, 1}), with({2, 9}, {0, 1})})),
            Error::InvalidProgram);
  EXPECT_TRUE(log.contains("tensor 1: 72 bytes at offset 0")) << log.text();
}

TEST(SharedShapes, KeepTheScalarTypeOfEachTensor) {
  LoadedProgram program(sharing({{}, {fb::ScalarType::DOUBLE}, {fb::ScalarType::DOUBLE}}));
  ASSERT_TRUE(program.ok());
  MethodMemory memory(*program->method_meta("forward"));
  auto method = program->load_method("forward", &memory.manager());
  ASSERT_EQ(method.error(), Error::Ok);
  EXPECT_EQ(method->get_output(0).toTensor().nbytes(), kElements * sizeof(float));
  EXPECT_EQ(method->get_output(1).toTensor().nbytes(), kElements * sizeof(double));
  EXPECT_EQ(method->get_output(2).toTensor().scalar_type(), aten::ScalarType::Double);
}

}  // namespace
}  // namespace executorch::testing
