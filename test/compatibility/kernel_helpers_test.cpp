// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Kernels registered and tested as sources for ExecuTorch 1.4 do it.
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/kernels/test/FunctionHeaderWrapper.h>
#include <executorch/kernels/test/ScalarOverflowTestMacros.h>
#include <executorch/kernels/test/TestUtil.h>
#include <executorch/kernels/test/supported_features.h>
#include <executorch/kernels/test/supported_features_skip.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

namespace {

using executorch::aten::Scalar;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using torch::executor::ArrayRef;
using torch::executor::Kernel;
using torch::executor::KernelRuntimeContext;
using torch::executor::testing::SupportedFeatures;
using torch::executor::testing::TensorFactory;

Tensor& set_first_out(KernelRuntimeContext&, Tensor& out) {
  out.mutable_data_ptr<int32_t>()[0] = 1;
  return out;
}

constexpr char kEventName[] = "compatibility::set_first_named.out";

TEST(MakeBoxedKernelTest, ATypedFunctionBecomesAKernel) {
  const Kernel kernel = torch::executor::make_boxed_kernel("compatibility::set_first.out",
                                                           EXECUTORCH_FN(set_first_out));
  const Kernel named = executorch::extension::make_boxed_kernel(
      kEventName, EXECUTORCH_FN(set_first_out, kEventName));
  const std::vector<Kernel> kernels = {kernel, named};
  ASSERT_EQ(torch::executor::register_kernels(ArrayRef<Kernel>(kernels.data(), kernels.size())),
            Error::Ok);
  EXPECT_TRUE(torch::executor::hasOpsFn(kEventName));

  TensorFactory<ScalarType::Int> factory;
  Tensor out = factory.zeros({5});
  executorch::runtime::EValue value(out);
  executorch::runtime::EValue* stack[] = {&value};
  KernelRuntimeContext context;
  torch::executor::getOpsFn("compatibility::set_first.out")(
      context, executorch::runtime::Span<executorch::runtime::EValue*>(stack));
  EXPECT_EQ(out.const_data_ptr<int32_t>()[0], 1);

  out.mutable_data_ptr<int32_t>()[0] = 0;
  using Wrapped = torch::executor::WrapUnboxedIntoFunctor<decltype(EXECUTORCH_FN(set_first_out))>;
  Wrapped::call(context, executorch::runtime::Span<executorch::runtime::EValue*>(stack));
  EXPECT_EQ(out.const_data_ptr<int32_t>()[0], 1);
}

TEST(ResizeTest, ABracedListOfSizesResizes) {
  TensorFactory<ScalarType::Float> factory;
  Tensor scalar = factory.ones({});
  EXPECT_EQ(torch::executor::resize_tensor(scalar, {}), Error::Ok);
  Tensor matrix = factory.ones({3, 4}, executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND);
  EXPECT_EQ(torch::executor::resize_tensor(matrix, {2, 3}), Error::Ok);
  EXPECT_EQ(matrix.numel(), 6);
}

TEST(DefaultContextTest, KernelsThatNeedTemporaryMemoryTakeThePlatforms) {
  TensorFactory<ScalarType::Float> floats;
  TensorFactory<ScalarType::Long> longs;
  KernelRuntimeContext context;
  Tensor values = floats.zeros({2, 2});
  Tensor indices = longs.zeros({2, 2});
  torch::executor::aten::topk_outf(context, floats.make({2, 3}, {1, 2, 3, 6, 5, 4}), 2, 1, true,
                                   true, values, indices);
  EXPECT_EQ(context.failure_state(), Error::Ok);
  EXPECT_TENSOR_EQ(values, floats.make({2, 2}, {3, 2, 6, 5}));

  const std::optional<Tensor> positions[] = {longs.make({2}, {-1, 0})};
  Tensor out = floats.zeros({3});
  torch::executor::aten::index_put_outf(context, floats.ones({3}),
                                        ArrayRef<std::optional<Tensor>>(positions, 1),
                                        floats.make({2}, {7, 8}), true, out);
  EXPECT_TENSOR_EQ(out, floats.make({3}, {9, 1, 8}));
  EXPECT_EQ(context.failure_state(), Error::Ok);
  EXPECT_EQ(context.allocate_temp(4).error(), Error::NotFound) << "outside of a kernel";

  executorch::runtime::MemoryAllocator none(0, nullptr);
  KernelRuntimeContext without_memory(nullptr, &none);
  torch::executor::aten::topk_outf(without_memory, floats.ones({2, 3}), 2, 1, true, true, values,
                                   indices);
  EXPECT_EQ(without_memory.failure_state(), Error::MemoryAllocationFailed)
      << "the caller's allocator is the limit";
}

class OpFillOutTest : public OperatorTest {
 protected:
  template <ScalarType kType>
  void expect_bad_scalar_value_dies(Scalar value) {
    TensorFactory<kType> factory;
    Tensor out = factory.zeros({2});
    ET_EXPECT_KERNEL_FAILURE(context_,
                             torch::executor::aten::full_outf(context_, sizes_, value, out));
  }

  int64_t sizes_[1] = {2};
};

GENERATE_SCALAR_OVERFLOW_TESTS(OpFillOutTest)

TEST_F(OpFillOutTest, ATestSkipsWhereAFeatureIsMissing) {
  SupportedFeatures* const features = SupportedFeatures::get();
  ET_SKIP_IF(features->output_resize, "kernels resize static outputs") << " here";
  TensorFactory<ScalarType::Float> factory;
  Tensor out = factory.zeros({3});
  ET_EXPECT_KERNEL_FAILURE(context_, torch::executor::aten::full_outf(context_, sizes_, 1, out));
}

static_assert(ET_HAVE_GNU_STATEMENT_EXPRESSIONS == 1 && __ET_HAVE_GNU_STATEMENT_EXPRESSIONS == 1,
              "the tests are compiled by GCC or Clang");

}  // namespace
