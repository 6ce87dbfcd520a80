// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tensors whose data lies beside the program: looked up by name, and compared with the dtype, sizes
// and dim order in the program.
#include <gtest/gtest.h>
#include <string.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <executorch/runtime/core/named_data_map.h>

#include "runtime/executor/loaded_program.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using aten::ScalarType;
using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::TensorLayout;

/// One tensor, called "weight".
class OneTensor final : public runtime::NamedDataMap {
 public:
  Result<const TensorLayout> get_tensor_layout(std::string_view key) const override {
    if (key != "weight") {
      return Error::NotFound;
    }
    return TensorLayout::create({sizes.data(), sizes.size()}, {order.data(), order.size()}, type);
  }
  Result<FreeableBuffer> get_data(std::string_view key) const override {
    if (key != "weight" || data_error != Error::Ok) {
      return data_error == Error::Ok ? Error::NotFound : data_error;
    }
    return FreeableBuffer(data.data(), data.size() * sizeof(float), nullptr);
  }
  Error load_data_into(std::string_view key, void* buffer, size_t size) const override {
    if (key != "weight" || data_error != Error::Ok || size != data.size() * sizeof(float)) {
      return data_error == Error::Ok ? Error::InvalidArgument : data_error;
    }
    memcpy(buffer, data.data(), size);
    return Error::Ok;
  }
  Result<uint32_t> get_num_keys() const override { return 1; }
  Result<const char*> get_key(uint32_t) const override { return "weight"; }

  std::vector<int32_t> sizes = {2};
  std::vector<uint8_t> order = {0};
  ScalarType type = ScalarType::Float;
  std::vector<float> data = {10, 20};
  Error data_error = Error::Ok;
};

/// Adds the weight, value 5, to the first input.
TestProgram program_with_weight(bool is_planned) {
  TestProgram program = add_program();
  TestTensor weight;
  weight.name = "weight";
  weight.location = fb::TensorDataLocation::EXTERNAL;
  if (is_planned) {
    weight.memory_id = 1;
    weight.offset = 48;
  }
  TestPlan& plan = program.plans[0];
  plan.values.push_back(tensor(weight));
  plan.chains[0][0].arguments[1] = static_cast<int32_t>(plan.values.size()) - 1;
  return program;
}

/// Loads the method and returns the error.
Error load(const TestProgram& source, const runtime::NamedDataMap* map) {
  LoadedProgram program(source);
  MethodMemory memory(*program->method_meta("forward"));
  return program->load_method("forward", &memory.manager(), nullptr, map).error();
}

TEST(ExternalData, IsUsedInPlaceOrCopiedToPlannedMemory) {
  for (const bool is_planned : {false, true}) {
    const OneTensor map;
    LoadedProgram program(program_with_weight(is_planned));
    MethodMemory memory(*program->method_meta("forward"));
    auto method = program->load_method("forward", &memory.manager(), nullptr, &map);
    ASSERT_TRUE(method.ok());
    FloatTensor a({1, 2});
    FloatTensor b({0, 0});
    ASSERT_EQ(set_inputs(*method, {a.value(), b.value()}), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(method->get_output(0).toTensor().const_data_ptr<float>()[1], 22);
  }
}

struct Lie {
  std::function<void(OneTensor&)> change;
  Error error;
  std::string message;
};

TEST(ExternalData, ThatContradictsTheProgramIsRefused) {
  const std::string expected = "expected type 6, rank 1 and the program's sizes and dim order";
  const std::vector<Lie> lies = {
      {[](OneTensor& map) { map.type = ScalarType::Int; }, Error::InvalidExternalData, expected},
      {[](OneTensor& map) { map.sizes = {3}; }, Error::InvalidExternalData, expected},
      {[](OneTensor& map) {
         map.sizes = {1, 2};
         map.order = {0, 1};
       },
       Error::InvalidExternalData, expected},
      {[](OneTensor& map) { map.data_error = Error::AccessFailed; }, Error::AccessFailed, ""},
  };
  for (const bool is_planned : {false, true}) {
    for (const Lie& lie : lies) {
      OneTensor map;
      lie.change(map);
      const LogCapture log;
      EXPECT_EQ(load(program_with_weight(is_planned), &map), lie.error);
      EXPECT_TRUE(log.contains(lie.message)) << log.text();
    }
  }
  OneTensor short_of_data;
  short_of_data.data = {10};
  EXPECT_EQ(load(program_with_weight(false), &short_of_data), Error::InvalidExternalData);
  EXPECT_EQ(load(program_with_weight(true), &short_of_data), Error::InvalidArgument);
}

TEST(ExternalData, ThatIsMissingIsNamed) {
  const LogCapture log;
  EXPECT_EQ(load(program_with_weight(false), nullptr), Error::NotFound);
  EXPECT_TRUE(log.contains("no data named 'weight' beside the program"));
  TestProgram other = program_with_weight(false);
  other.plans[0].values.back().tensor.name = "bias";
  const OneTensor map;
  EXPECT_EQ(load(other, &map), Error::NotFound);
  EXPECT_TRUE(log.contains("no data named 'bias' beside the program"));
}

TEST(ExternalData, OfAnotherDimOrderIsRefused) {
  TestProgram source = program_with_weight(false);
  TestTensor& weight = source.plans[0].values.back().tensor;
  weight.sizes = {1, 2};
  weight.dim_order = {1, 0};
  source.plans[0].chains[0][0].arguments[1] = 0;  // nothing reads it
  OneTensor map;
  map.sizes = {1, 2};
  map.order = {0, 1};
  EXPECT_EQ(load(source, &map), Error::InvalidExternalData);
  map.order = {1, 0};
  EXPECT_EQ(load(source, &map), Error::Ok);
}

TEST(ExternalData, OfTensorsWithoutDimensionsIsOneElement) {
  TestProgram source = program_with_weight(false);
  TestTensor& weight = source.plans[0].values.back().tensor;
  weight.sizes = {};
  weight.dim_order = {};
  source.plans[0].chains[0][0].arguments[1] = 0;
  OneTensor map;
  map.sizes = {};
  map.order = {};
  EXPECT_EQ(load(source, &map), Error::Ok);
}

TEST(ExternalData, ThatLiesBetweenElementsIsRefused) {
  class Shifted final : public runtime::NamedDataMap {
   public:
    Result<const TensorLayout> get_tensor_layout(std::string_view key) const override {
      return inner.get_tensor_layout(key);
    }
    Result<FreeableBuffer> get_data(std::string_view) const override {
      return FreeableBuffer(bytes + 1, 8, nullptr);
    }
    Error load_data_into(std::string_view, void*, size_t) const override { return Error::NotFound; }
    Result<uint32_t> get_num_keys() const override { return 1; }
    Result<const char*> get_key(uint32_t) const override { return "weight"; }
    OneTensor inner;
    alignas(8) uint8_t bytes[16] = {};
  };
  const Shifted map;
  const LogCapture log;
  EXPECT_EQ(load(program_with_weight(false), &map), Error::InvalidArgument);
  EXPECT_TRUE(log.contains("expected a multiple of its elements' 4 bytes")) << log.text();
}

}  // namespace
}  // namespace executorch::testing
