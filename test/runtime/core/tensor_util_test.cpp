// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <gtest/gtest.h>

#include <vector>

#include "runtime/log_capture.h"

using namespace executorch::runtime;
using executorch::aten::ArrayRef;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::testing::TensorFactory;

namespace {

class TensorUtilTest : public ::testing::Test {
 protected:
  TensorFactory<ScalarType::Float> floats_;
  TensorFactory<ScalarType::Int> ints_;
  LogCapture log_;
};

TEST_F(TensorUtilTest, DimensionsCountFromBothEnds) {
  EXPECT_TRUE(dim_is_valid(-3, 3));
  EXPECT_TRUE(dim_is_valid(2, 3));
  EXPECT_TRUE(dim_is_valid(0, 0));
  EXPECT_TRUE(dim_is_valid(-1, 0));
  EXPECT_TRUE(log_.messages().empty());
  EXPECT_FALSE(dim_is_valid(3, 3));
  EXPECT_FALSE(dim_is_valid(-4, 3));
  EXPECT_FALSE(dim_is_valid(1, 0));
  EXPECT_TRUE(log_.contains("dimension 3 is out of range [-3, 3)"));
  EXPECT_EQ(normalize_dim(-1, 3), 2);
  EXPECT_EQ(normalize_dim(-1, 0), 0);
  EXPECT_EQ(nonzero_dim(floats_.ones({})), 1);
  EXPECT_EQ(nonempty_size(floats_.ones({}), 0), 1);
  EXPECT_EQ(nonempty_size(floats_.ones({2, 3}), 1), 3);
}

TEST_F(TensorUtilTest, APredicateReportsTheExpectedAndTheFoundValue) {
  const Tensor a = floats_.ones({2, 3});
  EXPECT_TRUE(tensor_is_rank(a, 2));
  EXPECT_FALSE(tensor_is_rank(a, 3));
  EXPECT_TRUE(log_.contains("expected a tensor of rank 3, found 2"));
  EXPECT_FALSE(tensor_has_rank_greater_or_equal_to(a, 3));
  EXPECT_FALSE(tensor_has_rank_smaller_or_equal_to(a, 1));
  EXPECT_FALSE(tensors_have_same_dtype(a, ints_.ones({2})));
  EXPECT_TRUE(log_.contains("found Float and Int"));
  EXPECT_FALSE(tensor_is_type(a, ScalarType::Bool));
  EXPECT_FALSE(tensors_have_same_shape(a, floats_.ones({3, 2})));
  EXPECT_TRUE(log_.contains("found (2, 3) and (3, 2)"));
  EXPECT_TRUE(tensors_have_same_shape_and_dtype(a, floats_.zeros({2, 3})));
  EXPECT_FALSE(tensors_have_same_size_at_dims(a, 0, a, 1));
  EXPECT_TRUE(tensors_have_same_size_at_dims(a, 1, floats_.ones({3}), 0));
  EXPECT_FALSE(tensors_have_same_size_at_dims(a, 2, a, 0));
  EXPECT_TRUE(tensor_is_scalar(floats_.ones({})));
  EXPECT_FALSE(tensor_is_scalar(floats_.ones({1})));
}

TEST_F(TensorUtilTest, ContiguityDependsOnSizesAndStrides) {
  EXPECT_TRUE(tensor_is_contiguous(floats_.ones({2, 3})));
  EXPECT_TRUE(tensor_is_contiguous(floats_.ones({})));
  EXPECT_TRUE(tensor_is_contiguous(floats_.make({2, 0, 3}, {})));
  EXPECT_FALSE(tensor_is_contiguous(floats_.ones_channels_last({1, 2, 2, 2})));
  EXPECT_TRUE(tensor_is_contiguous(floats_.ones_channels_last({1, 1, 2, 2})));
  EXPECT_FALSE(tensor_is_contiguous(floats_.make({2, 3}, {1, 2, 3, 4, 5, 6}, {1, 2})));
}

TEST_F(TensorUtilTest, DimOrdersThatDifferOnlyAtSizeOneAreTheSame) {
  const Tensor contiguous = floats_.ones({1, 2, 2, 2});
  const Tensor last = floats_.ones_channels_last({1, 2, 2, 2});
  EXPECT_FALSE(tensors_have_same_dim_order(contiguous, last));
  EXPECT_TRUE(tensors_have_same_dim_order(last, last, last));
  EXPECT_TRUE(tensors_have_same_dim_order(floats_.ones({2, 1, 3, 4}),
                                          floats_.ones_channels_last({2, 1, 3, 4})));
  EXPECT_FALSE(tensors_have_same_dim_order(floats_.ones({2}), floats_.ones({2, 2})));
  const std::vector<Tensor> several = {contiguous, contiguous, contiguous, contiguous, last};
  EXPECT_FALSE(tensors_have_same_dim_order({several.data(), several.size()}));
  EXPECT_TRUE(tensors_have_same_dim_order(executorch::aten::ArrayRef<Tensor>(several.data(), 4)));
  EXPECT_TRUE(tensor_is_channels_last_dim_order(last));
  EXPECT_TRUE(tensor_is_default_dim_order(contiguous));
  EXPECT_TRUE(tensor_is_default_or_channels_last_dim_order(last));
  EXPECT_TRUE(tensor_has_valid_dim_order(last));
  uint8_t order[4];
  EXPECT_EQ(get_dim_order(last, order, 4), Error::Ok);
  EXPECT_EQ(order[3], 1);
  EXPECT_EQ(get_dim_order(last, order, 3), Error::InvalidArgument);
}

TEST_F(TensorUtilTest, ResizingTakesSizesOfBothWidths) {
  Tensor tensor = floats_.zeros({4, 4}, TensorShapeDynamism::DYNAMIC_BOUND);
  const int64_t wide[] = {2, 8};
  EXPECT_EQ(resize_tensor(tensor, ArrayRef<int64_t>(wide)), Error::Ok);
  EXPECT_EQ(tensor.size(1), 8);
  const int32_t narrow[] = {1, 1};
  EXPECT_EQ(resize_tensor(tensor, ArrayRef<int32_t>(narrow)), Error::Ok);
  const int64_t wild[] = {int64_t{1} << 32, 0};
  EXPECT_EQ(resize_tensor(tensor, ArrayRef<int64_t>(wild)), Error::InvalidArgument);
  const std::vector<int64_t> deep(17, 1);
  EXPECT_EQ(resize_tensor(tensor, ArrayRef<int64_t>(deep.data(), deep.size())),
            Error::NotSupported);
  EXPECT_EQ(tensor.numel(), 1);
}

TEST_F(TensorUtilTest, LeadingAndTrailingProducts) {
  const Tensor tensor = floats_.ones({2, 3, 4});
  EXPECT_EQ(getLeadingDims(tensor, 0), 1u);
  EXPECT_EQ(getLeadingDims(tensor, 2), 6u);
  EXPECT_EQ(getLeadingDims(tensor, 3), 24u);
  EXPECT_EQ(getTrailingDims(tensor, 2), 1u);
  EXPECT_EQ(getTrailingDims(tensor, 0), 12u);
  EXPECT_EQ(getTrailingDims(tensor, -1), 24u);
}

TEST_F(TensorUtilTest, MemoryIsSharedCopiedAndSetBySize) {
  const Tensor a = floats_.make({2}, {1, 2});
  const Tensor b = floats_.make({1, 2}, {3, 4});
  EXPECT_EQ(internal::copy_tensor_data(a, b), Error::Ok);
  EXPECT_EQ(a.const_data_ptr<float>()[1], 4);
  EXPECT_EQ(internal::copy_tensor_data(a, a), Error::Ok);
  EXPECT_EQ(internal::share_tensor_data(a, b), Error::Ok);
  EXPECT_EQ(a.const_data_ptr(), b.const_data_ptr());
  EXPECT_EQ(internal::share_tensor_data(a, floats_.ones({3})), Error::InvalidArgument);
  float memory[3];
  EXPECT_EQ(internal::set_tensor_data(a, memory, 7), Error::InvalidArgument);
  EXPECT_EQ(internal::set_tensor_data(a, memory, 8), Error::Ok);
  internal::reset_data_ptr(a);
  EXPECT_EQ(internal::copy_tensor_data(a, b), Error::InvalidArgument);
}

Tensor& kernel(KernelRuntimeContext& context, const Tensor& in, Tensor& out) {
  ET_KERNEL_CHECK(context, tensor_is_rank(in, 1), InvalidArgument, out);
  ET_KERNEL_CHECK_MSG(context, in.numel() < 3, NotSupported, out, "found %zd", in.numel());
  return out;
}

TEST_F(TensorUtilTest, AKernelsCheckFailsItsContext) {
  Tensor out = floats_.ones({1});
  KernelRuntimeContext good;
  kernel(good, floats_.ones({2}), out);
  EXPECT_EQ(good.failure_state(), Error::Ok);
  KernelRuntimeContext bad;
  kernel(bad, floats_.ones({2, 2}), out);
  EXPECT_EQ(bad.failure_state(), Error::InvalidArgument);
  kernel(bad, floats_.ones({3}), out);
  EXPECT_EQ(bad.failure_state(), Error::NotSupported);
  EXPECT_TRUE(log_.contains("in.numel() < 3: found 3"));
}

TEST_F(TensorUtilTest, ShapesAsText) {
  EXPECT_STREQ(tensor_shape_to_c_string(floats_.ones({}).sizes()).data(), "()");
  const std::vector<int64_t> widest(16, INT64_MIN);
  const auto text = tensor_shape_to_c_string(ArrayRef<int64_t>(widest.data(), widest.size()));
  EXPECT_EQ(std::string(text.data()).size(), 16u * 20 + 15 * 2 + 2);
  EXPECT_EQ(std::string(text.data()).back(), ')');
  const std::vector<int32_t> deep(17, 1);
  EXPECT_STREQ(tensor_shape_to_c_string(ArrayRef<int32_t>(deep.data(), deep.size())).data(),
               "(ERR: tensor ndim exceeds limit)");
}

}  // namespace
