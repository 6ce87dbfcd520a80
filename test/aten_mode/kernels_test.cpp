// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The portable kernels on at::Tensor, against ATen's own.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <executorch/kernels/portable/Functions.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/kernel/boxing.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/test/oracle/tolerances.h>

namespace {

namespace kernels = executorch::kernels::aten;
using at::Tensor;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::Span;

/// A context with temporary memory.
struct Context {
  alignas(16) uint8_t memory[1 << 16];
  MemoryAllocator allocator{sizeof(memory), memory};
  KernelRuntimeContext kernel{nullptr, &allocator};
};

void expect_close(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.sizes(), expected.sizes());
  ASSERT_EQ(found.scalar_type(), expected.scalar_type());
  EXPECT_TRUE(at::allclose(found, expected, tolerance::kAtenRelative, tolerance::kLayer))
      << found << expected;
}

TEST(AtenModeTest, ElementwiseKernelsPromoteAndBroadcast) {
  Context context;
  const Tensor x = at::randn({3, 1, 4}), y = at::randint(-5, 5, {2, 4});
  Tensor out = at::empty({3, 2, 4});
  kernels::add_outf(context.kernel, x, y, 2, out);
  expect_close(out, at::add(x, y, 2));
  const Tensor half = at::randn({5}).to(at::kHalf);
  Tensor half_out = at::empty({5}, at::kHalf);
  kernels::mul_outf(context.kernel, half, half, half_out);
  EXPECT_TRUE(at::allclose(half_out, at::mul(half, half), tolerance::kHalf, tolerance::kHalf));
  EXPECT_EQ(context.kernel.failure_state(), Error::Ok);
}

/// A kernel as ATen's own functions are written.
Tensor& count_out(const Tensor&, at::OptionalIntArrayRef ints,
                  const at::OptionalArrayRef<double>& doubles, Tensor& out) {
  out.fill_((ints.has_value() ? 10 * static_cast<double>(ints->back()) : 0) +
            (doubles.has_value() ? doubles->back() : 0.5));
  return out;
}

TEST(AtenModeTest, OptionalListsOfAtensTypeAreUnboxed) {
  const auto kernel = executorch::runtime::make_kernel<&count_out>("test::count.out");
  EValue tensor(at::zeros({1})), none, two(int64_t{2});
  EValue* items[] = {&two};
  int64_t memory[1];
  executorch::runtime::BoxedEvalueList<int64_t> ints(items, memory, 1);
  const double numbers[] = {1, 3};
  at::ArrayRef<double> doubles(numbers);
  EValue int_list(&ints), double_list(&doubles);
  Context context;
  EValue* given[] = {&tensor, &int_list, &double_list, &tensor};
  ASSERT_EQ(kernel.check_({given, 4}), Error::Ok);
  kernel.op_(context.kernel, {given, 4});
  EXPECT_EQ(tensor.toTensor().item<float>(), 23);
  EValue* left_out[] = {&tensor, &none, &none, &tensor};
  ASSERT_EQ(kernel.check_({left_out, 4}), Error::Ok);
  kernel.op_(context.kernel, {left_out, 4});
  EXPECT_EQ(tensor.toTensor().item<float>(), 0.5);
  EValue* wrong[] = {&tensor, &double_list, &none, &tensor};
  EXPECT_EQ(kernel.check_({wrong, 4}), Error::InvalidType);
}

TEST(AtenModeTest, ViewsOfLargerStorageAreReadWhereTheyLie) {
  Context context;
  const Tensor whole = at::randn({6, 8});
  const Tensor view = whole.slice(0, 1, 6, 2).t().slice(0, 3);
  Tensor out = at::empty(view.sizes());
  kernels::neg_outf(context.kernel, view, out);
  expect_close(out, at::neg(view));
  Tensor target = at::zeros({4, 5});
  Tensor column = target.select(1, 2);
  kernels::neg_outf(context.kernel, whole.select(1, 0).slice(0, 0, 4), column);
  expect_close(target.select(1, 2), at::neg(whole.select(1, 0).slice(0, 0, 4)));
  expect_close(target.select(1, 1), at::zeros({4}));
}

TEST(AtenModeTest, KernelsOfEveryFamilyMatchAten) {
  Context context;
  KernelRuntimeContext& ctx = context.kernel;
  const Tensor x = at::randn({2, 6, 5}), w = at::randn({5}), b = at::randn({5});
  Tensor out = at::empty_like(x), mean = at::empty({2, 6, 1}), rstd = at::empty({2, 6, 1});
  kernels::native_layer_norm_outf(ctx, x, {5}, w, b, 1e-5, out, mean, rstd);
  expect_close(out, at::layer_norm(x, {5}, w, b));
  kernels::_softmax_outf(ctx, x, 1, false, out);
  expect_close(out, at::softmax(x, 1));
  Tensor product = at::empty({2, 6, 6});
  kernels::bmm_outf(ctx, x, x.transpose(1, 2).contiguous(), product);
  expect_close(product, at::bmm(x, x.transpose(1, 2)));
  Tensor sum = at::empty({2, 5});
  const int64_t dims[] = {1};
  kernels::sum_outf(ctx, x, at::IntArrayRef(dims), false, std::nullopt, sum);
  expect_close(sum, at::sum(x, {1}));
  Tensor joined = at::empty({2, 12, 5});
  kernels::cat_outf(ctx, {x, x}, 1, joined);
  expect_close(joined, at::cat({x, x}, 1));
  const Tensor rows = at::tensor({5, 0, 3});
  Tensor picked = at::empty({2, 3, 5});
  kernels::index_select_outf(ctx, x, 1, rows, picked);
  expect_close(picked, at::index_select(x, 1, rows));
  const Tensor image = at::randn({1, 2, 5, 5}), weight = at::randn({3, 2, 3, 3});
  Tensor convolved = at::empty({1, 3, 5, 5});
  kernels::convolution_outf(ctx, image, weight, std::nullopt, {1, 1}, {1, 1}, {1, 1}, false, {0, 0},
                            1, convolved);
  expect_close(convolved,
               at::convolution(image, weight, {}, {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1));
  EXPECT_EQ(ctx.failure_state(), Error::Ok);
}

TEST(AtenModeTest, OutputsAreResizedWithinTheirMemoryInTheirDimOrder) {
  Context context;
  Tensor out = at::empty({2, 3, 8, 8}, at::MemoryFormat::ChannelsLast);
  const Tensor x = at::randn({2, 3, 4, 4});
  kernels::neg_outf(context.kernel, x, out);
  expect_close(out, at::neg(x));
  EXPECT_TRUE(out.is_contiguous(at::MemoryFormat::ChannelsLast));
  Tensor small = at::empty({1, 1, 1, 1});
  kernels::neg_outf(context.kernel, x, small);
  EXPECT_EQ(context.kernel.failure_state(), Error::NotSupported);
  EXPECT_EQ(small.numel(), 1);
}

TEST(AtenModeTest, BadArgumentsAreErrors) {
  Context context;
  Tensor out = at::empty({2, 2});
  kernels::mm_outf(context.kernel, at::ones({2, 3}), at::ones({2, 3}), out);
  EXPECT_EQ(context.kernel.failure_state(), Error::InvalidArgument);
}

TEST(AtenModeTest, RegisteredKernelsTakeATensorInAValue) {
  const auto kernel = executorch::runtime::find_kernel("aten::mul.out");
  ASSERT_TRUE(kernel.ok());
  const Tensor x = at::randn({4});
  Tensor out = at::empty({4});
  {
    EValue values[] = {EValue(x), EValue(x), EValue(out)};
    EValue* arguments[] = {&values[0], &values[1], &values[2]};
    ASSERT_EQ((*kernel)->check_(Span<EValue* const>(arguments, 3)), Error::Ok);
    KernelRuntimeContext context;
    (*kernel)->op_(context, Span<EValue*>(arguments, 3));
    EXPECT_EQ(context.failure_state(), Error::Ok);
    EXPECT_EQ(x.use_count(), 3u);
    EValue moved(std::move(values[0]));
    values[1] = EValue(int64_t{7});
    EXPECT_EQ(moved.toTensor().data_ptr(), x.data_ptr());
  }
  EXPECT_EQ(x.use_count(), 1u);
  expect_close(out, at::mul(x, x));
}

TEST(AtenModeTest, ListsOfTensorsGiveTheirReferencesBack) {
  using executorch::runtime::BoxedEvalueList;
  const Tensor x = at::randn({4});
  {
    EValue value(x), none;
    EValue* items[] = {&value, nullptr, &none};
    std::optional<Tensor> memory[3];
    const BoxedEvalueList<std::optional<Tensor>> list(items, memory, 3);
    for (int time = 0; time < 2; ++time) {
      const auto read = list.get();
      EXPECT_TRUE(read[0].has_value());
      EXPECT_FALSE(read[1].has_value());
      EXPECT_FALSE(read[2].has_value());
    }
    EXPECT_EQ(x.use_count(), 3u);
  }
  EXPECT_EQ(x.use_count(), 1u);
}

}  // namespace
