// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The kernels of partial.yaml, through the generated registration: linking it registers, and the
// registry picks the one that is for the tensors given.
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <gtest/gtest.h>
#include <partial_ops/Functions.h>

#include <vector>

using namespace executorch::runtime;
using executorch::aten::Scalar;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::testing::TensorFactory;

namespace {
const char* g_called = "";
}  // namespace

namespace partial::native {
Tensor& scale_whole(const Tensor&, const Scalar&, Tensor& out) { return g_called = "whole", out; }
Tensor& scale_real_columns(KernelRuntimeContext&, const Tensor&, const Scalar&, Tensor& out) {
  return g_called = "real columns", out;
}
Tensor& scale(KernelRuntimeContext&, const Tensor&, const Scalar&, Tensor& out) {
  return g_called = "fallback", out;
}
Tensor& scale_to_whole(KernelRuntimeContext&, const Tensor&, const Scalar&, Tensor& out) {
  return g_called = "to whole", out;
}
Tensor& only(KernelRuntimeContext&, const Tensor&, const std::optional<Tensor>&, Tensor& out) {
  return g_called = "only", out;
}
}  // namespace partial::native

namespace {

uint8_t g_rows[] = {0, 1};
uint8_t g_columns[] = {1, 0};

struct Case {
  ScalarType x, out;
  bool x_columns, out_columns;
  const char* kernel;
};

TEST(PartialKernelsTest, TheKernelForTheTensorsIsFound) {
  constexpr auto kFloat = ScalarType::Float, kInt = ScalarType::Int, kDouble = ScalarType::Double;
  const Case cases[] = {
      {kInt, kInt, false, false, "whole"},
      {kInt, kInt, true, true, "whole"},
      {kInt, kInt, true, false, "fallback"},
      {kFloat, kFloat, true, true, "real columns"},
      {kDouble, kDouble, true, true, "real columns"},
      {kFloat, kDouble, true, true, "fallback"},
      {kFloat, kFloat, false, false, "fallback"},
      {kDouble, kInt, false, false, "to whole"},
      {ScalarType::Long, ScalarType::Long, false, false, "fallback"},
  };
  TensorFactory<ScalarType::Float> floats;
  for (const Case& c : cases) {
    const TensorMeta metas[] = {{c.x, c.x_columns ? g_columns : g_rows},
                                {c.out, c.out_columns ? g_columns : g_rows}};
    const auto kernel = find_kernel("partial::scale.out", metas);
    ASSERT_TRUE(kernel.ok());
    EValue values[] = {EValue(floats.ones({2, 2})), EValue(2.0), EValue(floats.ones({2, 2}))};
    EValue* args[] = {&values[0], &values[1], &values[2]};
    KernelRuntimeContext context;
    (*kernel)->op_(context, {args, 3});
    EXPECT_STREQ(g_called, c.kernel) << "x " << static_cast<int>(c.x);
  }
}

TEST(PartialKernelsTest, WithoutAFallbackOtherTensorsHaveNone) {
  const TensorMeta rows[] = {{ScalarType::Float, g_rows}, {ScalarType::Float, g_rows}};
  const TensorMeta columns[] = {{ScalarType::Float, g_columns}, {ScalarType::Float, g_columns}};
  EXPECT_TRUE(find_kernel("partial::only.out", rows).ok());
  EXPECT_EQ(find_kernel("partial::only.out", columns).error(), Error::OperatorMissing);
}

TEST(PartialKernelsTest, FunctionsAreCalledByTheirAtenNames) {
  TensorFactory<ScalarType::Float> floats;
  Tensor out = floats.ones({2});
  KernelRuntimeContext context;
  executorch::kernels::partial::scale_outf(context, floats.ones({2}), 2.0, out);
  EXPECT_STREQ(g_called, "fallback");
}

}  // namespace
