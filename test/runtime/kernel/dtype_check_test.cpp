// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/kernel/dtype_check.h>
#include <gtest/gtest.h>

#include "runtime/log_capture.h"

using namespace executorch::runtime;
using executorch::aten::ArrayRef;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::testing::TensorFactory;

namespace {

Tensor& add_out(const Tensor&, int64_t, Tensor& out) { return out; }
Tensor& cat_out(ArrayRef<Tensor>, Tensor& out) { return out; }

constexpr uint64_t kFloatAndInt = 1u << 6 | 1u << 3;
constexpr Kernel kAdd = make_kernel_for_dtypes<&add_out, kFloatAndInt>("test::add.out");
constexpr Kernel kCat = make_kernel_for_dtypes<&cat_out, kFloatAndInt>("test::cat.out");

struct DtypeCheckTest : public ::testing::Test {
  TensorFactory<ScalarType::Float> floats;
  TensorFactory<ScalarType::Int> ints;
  TensorFactory<ScalarType::Long> longs;
  LogCapture log;
};

TEST_F(DtypeCheckTest, TheDtypesOfTheBuildPass) {
  EValue values[] = {EValue(floats.ones({2})), EValue(int64_t{3}), EValue(ints.ones({2}))};
  EValue* args[] = {&values[0], &values[1], &values[2], &values[2]};
  EXPECT_EQ(kAdd.check_({args, 4}), Error::Ok);
}

TEST_F(DtypeCheckTest, AnotherIsRefusedAndNamed) {
  EValue values[] = {EValue(floats.ones({2})), EValue(int64_t{3}), EValue(longs.ones({2}))};
  EValue* args[] = {&values[0], &values[1], &values[2]};
  EXPECT_EQ(kAdd.check_({args, 3}), Error::NotSupported);
  EXPECT_TRUE(log.contains("argument 2 is a tensor of Long")) << log.text();
}

TEST_F(DtypeCheckTest, ListItemsAreChecked) {
  EValue items[] = {EValue(floats.ones({2})), EValue(longs.ones({2}))};
  EValue* pointers[] = {&items[0], &items[1]};
  alignas(Tensor) unsigned char storage[2 * sizeof(Tensor)];
  BoxedEvalueList<Tensor> list(pointers, reinterpret_cast<Tensor*>(storage), 2);
  EValue values[] = {EValue(&list), EValue(floats.ones({2}))};
  EValue* args[] = {&values[0], &values[1]};
  EXPECT_EQ(kCat.check_({args, 2}), Error::NotSupported);
  EXPECT_TRUE(log.contains("argument 0 is a tensor of Long")) << log.text();
}

TEST_F(DtypeCheckTest, TypedEntryPointsFailTheirContext) {
  const Tensor served = floats.ones({2}), other = longs.ones({2});
  const std::optional<Tensor> none, some(other);
  const Tensor list[] = {served, other};
  const std::optional<Tensor> optional_list[] = {none, some};
  const auto serves = [](const auto&... tensors) {
    KernelRuntimeContext ctx;
    const bool result = serves_dtypes<kFloatAndInt>(ctx, tensors...);
    EXPECT_EQ(ctx.failure_state(), result ? Error::Ok : Error::NotSupported);
    return result;
  };
  EXPECT_TRUE(serves(served, none, ArrayRef<Tensor>(list, 1)));
  EXPECT_TRUE(serves(ArrayRef<std::optional<Tensor>>(optional_list, 1)));
  EXPECT_FALSE(serves(served, other));
  EXPECT_TRUE(log.contains("argument 1 is a tensor of Long")) << log.text();
  EXPECT_FALSE(serves(some));
  EXPECT_FALSE(serves(ArrayRef<Tensor>(list, 2)));
  EXPECT_FALSE(serves(ArrayRef<std::optional<Tensor>>(optional_list, 2)));
}

TEST_F(DtypeCheckTest, TheSignatureIsCheckedBefore) {
  EValue values[] = {EValue(floats.ones({2}))};
  EValue* args[] = {&values[0]};
  EXPECT_EQ(kAdd.check_({args, 1}), Error::InvalidArgument);
}

}  // namespace
