// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <gtest/gtest.h>

using namespace executorch::runtime;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;

namespace my_ops {

Tensor& mul3_out(KernelRuntimeContext&, const Tensor& in, Tensor& out) {
  for (ssize_t i = 0; i < in.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] = 3 * in.const_data_ptr<float>()[i];
  }
  return out;
}

Tensor& same_out(const Tensor&, Tensor& out) { return out; }

}  // namespace my_ops

EXECUTORCH_LIBRARY(my_ops, "mul3.out", my_ops::mul3_out);
EXECUTORCH_LIBRARY(my_ops, "same.out", &my_ops::same_out);
// Partial kernels for float32 vectors, registered after and before the fallback kernel of their
// operator.
EXECUTORCH_PARTIAL_LIBRARY(my_ops, "same.out", "v1/6;0|6;0", my_ops::mul3_out);
EXECUTORCH_PARTIAL_LIBRARY(my_ops, "part.out", "v1/6;0|6;0", my_ops::mul3_out);
EXECUTORCH_LIBRARY(my_ops, "part.out", my_ops::same_out);
// A duplicate: the registry logs it and keeps the first kernel.
EXECUTORCH_LIBRARY(my_ops, "mul3.out", my_ops::same_out);

namespace {

TEST(LibraryRegistrationTest, AKernelIsRegisteredBeforeMain) {
  executorch::runtime::testing::TensorFactory<ScalarType::Float> floats;
  EValue in(floats.make({2}, {1, 2}));
  EValue out(floats.zeros({2}));
  EValue* arguments[] = {&in, &out};
  const Kernel* kernel = *find_kernel("my_ops::mul3.out");
  ASSERT_EQ(kernel->check_(Span<EValue* const>(arguments)), Error::Ok);
  KernelRuntimeContext context;
  kernel->op_(context, Span<EValue*>(arguments));
  EXPECT_EQ(out.toTensor().const_data_ptr<float>()[1], 6);
  EXPECT_TRUE(registry_has_op_function("my_ops::same.out"));
}

TEST(LibraryRegistrationTest, APartialKernelIsFoundForItsTensors) {
  uint8_t order[] = {0};
  const TensorMeta floats[] = {{ScalarType::Float, order}, {ScalarType::Float, order}};
  const TensorMeta ints[] = {{ScalarType::Int, order}, {ScalarType::Int, order}};
  const OpFunction mul3 = (*find_kernel("my_ops::mul3.out"))->op_;
  for (const char* name : {"my_ops::same.out", "my_ops::part.out"}) {
    EXPECT_EQ((*find_kernel(name, floats))->op_, mul3);
    EXPECT_NE((*find_kernel(name, ints))->op_, mul3);
  }
}

}  // namespace
