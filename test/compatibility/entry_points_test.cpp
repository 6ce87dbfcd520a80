// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Typed entry points of the kernels, by the names of torch::executor.
#include <optional>

#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/test/FunctionHeaderWrapper.h>
#include <executorch/kernels/test/TestUtil.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_util.h>

namespace {

using executorch::aten::ArrayRef;
using executorch::aten::Scalar;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using torch::executor::testing::TensorFactory;

class OpEntryPointsTest : public OperatorTest {
 protected:
  Tensor& op_add_out(const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
    return torch::executor::aten::add_outf(context_, self, other, alpha, out);
  }

  TensorFactory<ScalarType::Float> tf_;
  TensorFactory<ScalarType::Long> longs_;
};

TEST_F(OpEntryPointsTest, AnOperatorWritesItsOutput) {
  Tensor out = tf_.zeros({2});
  EXPECT_TENSOR_EQ(op_add_out(tf_.make({2}, {1, 2}), tf_.ones({2}), 2, out), tf_.make({2}, {3, 4}));
}

TEST_F(OpEntryPointsTest, AnOperatorWorksInPlace) {
  Tensor self = tf_.zeros({2});
  torch::executor::aten::copy_(context_, self, tf_.ones({2}), /*non_blocking=*/false);
  EXPECT_TENSOR_EQ(self, tf_.ones({2}));
  const std::optional<Tensor> indices[] = {longs_.make({1}, {1})};
  torch::executor::aten::index_put_(context_, self, ArrayRef<std::optional<Tensor>>(indices, 1),
                                    tf_.make({1}, {5}), /*accumulate=*/true);
  EXPECT_TENSOR_EQ(self, tf_.make({2}, {1, 6}));
}

TEST_F(OpEntryPointsTest, AnEarlierFailureOfTheContextDoesNotStopAnOperator) {
  Tensor out = tf_.zeros({2});
  const auto scatter = [&](int64_t index) {
    torch::executor::aten::scatter_outf(context_, tf_.zeros({2}), 0, longs_.make({1}, {index}),
                                        tf_.ones({1}), out);
  };
  ET_EXPECT_KERNEL_FAILURE(context_, scatter(2));
  scatter(1);
  EXPECT_TENSOR_EQ(out, tf_.make({2}, {0, 1}));
  EXPECT_NE(context_.failure_state(), executorch::runtime::Error::Ok);
}

TEST_F(OpEntryPointsTest, AKernelHasItsDocumentedName) {
  Tensor out = tf_.zeros({2});
  torch::executor::native::softmax_out(context_, tf_.zeros({2}), 0, false, out);
  EXPECT_TENSOR_CLOSE(out, tf_.full({2}, 0.5f));
  torch::executor::native::mul_out(context_, out, out, out);
  EXPECT_TENSOR_CLOSE(out, tf_.full({2}, 0.25f));
  torch::executor::native::copy_(context_, out, tf_.ones({2}), false);
  EXPECT_TENSOR_EQ(out, tf_.ones({2}));
}

}  // namespace
