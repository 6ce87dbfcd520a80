// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Kernels in the style of ExecuTorch's documentation: in torch::executor::native, with macros.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include <executorch/kernels/test/TestUtil.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_util.h>
#include <executorch/runtime/kernel/kernel_includes.h>
#include <executorch/test/utils/DeathTest.h>

namespace torch {
namespace executor {
namespace native {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;

namespace {

bool check_scale_args(const Tensor& in, const Tensor& out) {
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_realhbbf16_type(in));
  ET_LOG_MSG_AND_RETURN_IF_FALSE(in.dim() < 4, "rank %d", static_cast<int>(in.dim()));
  ET_LOG_AND_RETURN_IF_FALSE(tensor_is_floating_type(out));
  ET_CHECK_OR_RETURN_FALSE(tensors_have_same_dim_order(in, out), "dim orders differ");
  return true;
}

Tensor& scale_out(KernelRuntimeContext& ctx, const Tensor& in, double factor, Tensor& out) {
  ET_KERNEL_CHECK(ctx, check_scale_args(in, out), InvalidArgument, out);
  ET_KERNEL_CHECK_MSG(ctx, resize_tensor(out, in.sizes()) == Error::Ok, InvalidArgument, out,
                      "rank %d", static_cast<int>(out.dim()));
  ET_DEFINE_OPERATOR_NAME(kName, "scale.out");
  ET_SWITCH_REALHBBF16_TYPES(in.scalar_type(), ctx, kName, CTYPE_IN, [&]() {
    ET_SWITCH_FLOATHBF16_TYPES(out.scalar_type(), ctx, kName, CTYPE_OUT, [&]() {
      using CTYPE = typename promote_types<CTYPE_IN, CTYPE_OUT>::type;
      const CTYPE_IN* from = in.const_data_ptr<CTYPE_IN>();
      CTYPE_OUT* to = out.mutable_data_ptr<CTYPE_OUT>();
      for (ssize_t i = 0; i < in.numel(); ++i) {
        const CTYPE value = convert<CTYPE, CTYPE_IN>(from[i]);
        to[i] = convert<CTYPE_OUT, double>(static_cast<double>(value) * factor);
      }
    });
  });
  return out;
}

/// The size of an element, by a switch that returns a value.
size_t width(RuntimeContext& ctx, ScalarType dtype) {
  return ET_SWITCH_THREE_TYPES(Byte, Int, Double, dtype, ctx, "width", CTYPE,
                               [&]() { return sizeof(CTYPE); });
}

}  // namespace
}  // namespace native
}  // namespace executor
}  // namespace torch

namespace {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using torch::executor::Error;
using torch::executor::native::scale_out;
using torch::executor::testing::TensorFactory;

class OpScaleOutTest : public OperatorTest {
 protected:
  template <ScalarType IN, ScalarType OUT>
  void scales() {
    TensorFactory<IN> tf_in;
    TensorFactory<OUT> tf_out;
    Tensor out = tf_out.zeros({2, 2});
    scale_out(context_, tf_in.make({2, 2}, {0, 1, 1, 0}), 2.0, out);
    EXPECT_TENSOR_EQ(out, tf_out.make({2, 2}, {0, 2, 2, 0}));
  }

  template <ScalarType IN>
  void scales_to_every_type() {
#define TEST_ENTRY(ctype, dtype) scales<IN, ScalarType::dtype>();
    ET_FORALL_FLOATHBF16_TYPES(TEST_ENTRY)
#undef TEST_ENTRY
  }
};

TEST_F(OpScaleOutTest, EveryPairOfTypesIsScaled) {
#define TEST_ENTRY(ctype, dtype) scales_to_every_type<ScalarType::dtype>();
  ET_FORALL_REALHBBF16_TYPES(TEST_ENTRY)
#undef TEST_ENTRY
}

TEST_F(OpScaleOutTest, AnotherTypeMakesTheContextFail) {
  TensorFactory<ScalarType::ComplexFloat> tf_complex;
  TensorFactory<ScalarType::Float> tf;
  Tensor out = tf.zeros({1});
  ET_EXPECT_KERNEL_FAILURE(context_, scale_out(context_, tf_complex.zeros({1}), 1.0, out));
}

TEST_F(OpScaleOutTest, AnOutputOfAnotherRankMakesTheContextFail) {
  TensorFactory<ScalarType::Float> tf;
  Tensor out = tf.zeros({1});
  ET_EXPECT_KERNEL_FAILURE_WITH_MSG(context_, scale_out(context_, tf.zeros({2, 2}), 1.0, out), "");
}

TEST(SwitchTest, ABodyMayReturnAValue) {
  torch::executor::KernelRuntimeContext ctx;
  EXPECT_EQ(torch::executor::native::width(ctx, ScalarType::Int), 4u);
  EXPECT_EQ(torch::executor::native::width(ctx, ScalarType::Double), 8u);
  EXPECT_EQ(ctx.failure_state(), Error::Ok);
  EXPECT_EQ(torch::executor::native::width(ctx, ScalarType::Long), 0u);
  EXPECT_EQ(ctx.failure_state(), Error::InvalidArgument);
}

// Expects that a switch runs its body for `count` dtypes and fails for all others.
#define EXPECT_CASES(count, ...)                                                      \
  do {                                                                                \
    int cases = 0;                                                                    \
    for (int t = 0; t < static_cast<int>(ScalarType::Undefined); ++t) {               \
      torch::executor::KernelRuntimeContext ctx;                                      \
      const auto dtype = static_cast<ScalarType>(t);                                  \
      __VA_ARGS__(dtype, ctx, "cases", CTYPE, [&]() { cases += sizeof(CTYPE) > 0; }); \
      EXPECT_TRUE(ctx.failure_state() == Error::Ok ||                                 \
                  ctx.failure_state() == Error::InvalidArgument);                     \
    }                                                                                 \
    EXPECT_EQ(cases, count);                                                          \
  } while (0)

#define FLOAT_OR_BOOL(...) ET_SWITCH_FLOAT_TYPES_AND(Bool, __VA_ARGS__)
#define FLOAT_AND2(...) ET_SWITCH_FLOAT_TYPES_AND2(Bool, Long, __VA_ARGS__)
#define FLOAT_AND3(...) ET_SWITCH_FLOAT_TYPES_AND3(Bool, Long, Half, __VA_ARGS__)
#define FLOATHBF16_AND(...) ET_SWITCH_FLOATHBF16_TYPES_AND(Bool, __VA_ARGS__)
#define INT_OR_BOOL(...) ET_SWITCH_INT_TYPES_AND(Bool, __VA_ARGS__)
#define REAL_AND2(...) ET_SWITCH_REAL_TYPES_AND2(Bool, Half, __VA_ARGS__)
#define TWO(...) ET_SWITCH_TWO_TYPES(Int, Long, __VA_ARGS__)
#define FOUR(...) ET_SWITCH_FOUR_TYPES(Int, Long, Half, Bool, __VA_ARGS__)

TEST(SwitchTest, EverySetHasItsTypes) {
  EXPECT_CASES(23, ET_SWITCH_ALL_TYPES);
  EXPECT_CASES(7, ET_SWITCH_REAL_TYPES);
  EXPECT_CASES(8, ET_SWITCH_REALB_TYPES);
  EXPECT_CASES(8, ET_SWITCH_REALH_TYPES);
  EXPECT_CASES(9, ET_SWITCH_REALHB_TYPES);
  EXPECT_CASES(9, ET_SWITCH_REALHBF16_TYPES);
  EXPECT_CASES(10, ET_SWITCH_REALHBBF16_TYPES);
  EXPECT_CASES(13, ET_SWITCH_REALHBBF16_AND_UINT_TYPES);
  EXPECT_CASES(5, ET_SWITCH_INT_TYPES);
  EXPECT_CASES(2, ET_SWITCH_FLOAT_TYPES);
  EXPECT_CASES(3, ET_SWITCH_FLOATH_TYPES);
  EXPECT_CASES(4, ET_SWITCH_FLOATHBF16_TYPES);
  EXPECT_CASES(5, ET_SWITCH_QINT_TYPES);
  EXPECT_CASES(2, ET_SWITCH_COMPLEX_TYPES);
  EXPECT_CASES(3, ET_SWITCH_COMPLEXH_TYPES);
  EXPECT_CASES(3, ET_SWITCH_SCALAR_OBJ_TYPES);
  EXPECT_CASES(2, ET_SWITCH_SCALAR_OBJ_REAL_TYPES);
  EXPECT_CASES(2, ET_SWITCH_SCALAR_OBJ_INTB_TYPES);
  EXPECT_CASES(2, ET_SWITCH_SCALAR_OBJ_FLOATB_TYPES);
  EXPECT_CASES(3, FLOAT_OR_BOOL);
  EXPECT_CASES(4, FLOAT_AND2);
  EXPECT_CASES(5, FLOAT_AND3);
  EXPECT_CASES(5, FLOATHBF16_AND);
  EXPECT_CASES(6, INT_OR_BOOL);
  EXPECT_CASES(9, REAL_AND2);
  EXPECT_CASES(2, TWO);
  EXPECT_CASES(4, FOUR);
}

}  // namespace
