// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <gtest/gtest.h>
#include <stdint.h>

#include <optional>
#include <string>
#include <vector>

#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch::testing {
namespace {

using runtime::BoxedEvalueList;
using runtime::Error;
using runtime::EValue;
using runtime::Kernel;
using runtime::KernelRuntimeContext;
using runtime::Span;
using runtime::Tag;

/// Checks the arguments and runs the operator, as a program does.
Error run(const std::string& name, std::vector<EValue>& values) {
  const auto kernel = runtime::find_kernel(name.c_str());
  EXPECT_TRUE(kernel.ok()) << name;
  std::vector<EValue*> pointers;
  for (EValue& value : values) {
    pointers.push_back(&value);
  }
  const Error checked = (*kernel)->check_({pointers.data(), pointers.size()});
  if (checked != Error::Ok) {
    return checked;
  }
  KernelRuntimeContext context;
  (*kernel)->op_(context, {pointers.data(), pointers.size()});
  return context.failure_state();
}

/// The result of a scalar operator, in a value of the kind of `out`; nothing if it fails.
std::optional<EValue> result(const std::string& name, std::vector<EValue> operands, EValue out) {
  operands.push_back(out);
  const Error error = run("executorch_prim::" + name + ".Scalar", operands);
  return error == Error::Ok ? std::optional<EValue>(operands.back()) : std::nullopt;
}

struct Case {
  std::string name;
  std::vector<EValue> operands;
  /// None: the call must fail.
  EValue expected;
  EValue out;
};

EValue i(int64_t value) { return EValue(value); }
EValue d(double value) { return EValue(value); }
EValue b(bool value) { return EValue(value); }

class PrimOpsTest : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() { runtime::runtime_init(); }
};

TEST_P(PrimOpsTest, ComputesAsPythonDoes) {
  const Case& c = GetParam();
  const auto computed = result(c.name, c.operands, c.expected.isNone() ? c.out : c.expected);
  ASSERT_EQ(computed.has_value(), !c.expected.isNone());
  if (!computed.has_value()) {
    return;
  }
  ASSERT_EQ(computed->tag, c.expected.tag);
  switch (c.expected.tag) {
    case Tag::Int:
      EXPECT_EQ(computed->toInt(), c.expected.toInt());
      break;
    case Tag::Double:
      EXPECT_EQ(computed->toDouble(), c.expected.toDouble());
      break;
    default:
      EXPECT_EQ(computed->toBool(), c.expected.toBool());
      break;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, PrimOpsTest,
    ::testing::Values(
        Case{"add", {i(2), i(3)}, i(5), {}}, Case{"add", {i(2), d(0.5)}, d(2.5), {}},
        Case{"add", {i(INT64_MAX), i(1)}, {}, i(0)}, Case{"sub", {i(2), i(3)}, i(-1), {}},
        Case{"sub", {i(INT64_MIN), i(1)}, {}, i(0)}, Case{"mul", {i(-4), i(3)}, i(-12), {}},
        Case{"mul", {i(INT64_MAX), i(2)}, {}, i(0)}, Case{"mul", {d(0.5), d(4)}, d(2), {}},
        Case{"floordiv", {i(7), i(2)}, i(3), {}}, Case{"floordiv", {i(-7), i(2)}, i(-4), {}},
        Case{"floordiv", {i(7), i(-2)}, i(-4), {}}, Case{"floordiv", {i(-8), i(2)}, i(-4), {}},
        Case{"floordiv", {i(1), i(0)}, {}, i(0)}, Case{"floordiv", {i(INT64_MIN), i(-1)}, {}, i(0)},
        Case{"floordiv", {d(-7), i(2)}, d(-4), {}}, Case{"floordiv", {d(1), d(0)}, {}, d(0)},
        Case{"pow", {i(-3), i(3)}, i(-27), {}}, Case{"pow", {i(2), i(0)}, i(1), {}},
        Case{"pow", {i(2), i(63)}, {}, i(0)}, Case{"pow", {i(2), i(-1)}, {}, i(0)},
        Case{"pow", {i(9), d(0.5)}, d(3), {}}, Case{"pow", {d(-1), d(0.5)}, {}, d(0)},
        Case{"mod", {i(7), i(3)}, i(1), {}}, Case{"mod", {i(-7), i(3)}, i(2), {}},
        Case{"mod", {i(7), i(-3)}, i(-2), {}}, Case{"mod", {i(7), i(0)}, {}, i(0)},
        Case{"mod", {i(INT64_MIN), i(-1)}, i(0), {}}, Case{"mod", {d(-7.5), d(2)}, d(0.5), {}},
        Case{"truediv", {i(7), i(2)}, d(3.5), {}}, Case{"truediv", {i(7), i(0)}, {}, d(0)},
        Case{"sym_min", {i(7), i(2)}, i(2), {}}, Case{"sym_max", {i(7), d(2)}, d(7), {}},
        Case{"eq", {i(2), i(2)}, b(true), {}}, Case{"ne", {i(2), d(2)}, b(false), {}},
        Case{"lt", {i(1), i(2)}, b(true), {}}, Case{"le", {d(2), i(2)}, b(true), {}},
        Case{"gt", {i(1), i(2)}, b(false), {}}, Case{"ge", {i(2), i(2)}, b(true), {}},
        Case{"neg", {i(2)}, i(-2), {}}, Case{"neg", {d(2)}, d(-2), {}},
        Case{"neg", {i(INT64_MIN)}, {}, i(0)}, Case{"ceil", {d(1.2)}, i(2), {}},
        Case{"round", {d(2.5)}, i(2), {}}, Case{"round", {d(3.5)}, i(4), {}},
        Case{"trunc", {d(-1.7)}, i(-1), {}}, Case{"trunc", {d(1e300)}, {}, i(0)},
        Case{"sym_int", {d(3.9)}, i(3), {}}, Case{"sym_float", {i(3)}, d(3), {}},
        Case{"sym_not", {b(true)}, b(false), {}},
        Case{"sym_and", {b(true), b(false)}, b(false), {}},
        Case{"sym_or", {b(true), b(false)}, b(true), {}},
        Case{"sym_ite", {b(true), i(1), i(2)}, i(1), {}},
        Case{"sym_ite", {b(false), i(1), i(2)}, i(2), {}},
        // Results whose kind differs from that of the output value.
        Case{"add", {i(2), d(1)}, {}, i(0)}, Case{"truediv", {i(4), i(2)}, {}, i(0)},
        Case{"eq", {i(2), i(2)}, {}, i(0)}, Case{"sym_ite", {b(true), i(1), d(2)}, {}, i(0)}));

/// A float tensor; sizes are its capacity.
struct TestTensor {
  TestTensor(std::vector<int32_t> shape, std::vector<float> values,
             aten::TensorShapeDynamism dynamism = aten::TensorShapeDynamism::STATIC)
      : sizes(std::move(shape)),
        order(sizes.size()),
        strides(sizes.size()),
        data(std::move(values)) {
    int32_t stride = 1;
    for (size_t k = sizes.size(); k-- > 0;) {
      order[k] = static_cast<uint8_t>(k);
      strides[k] = stride;
      stride *= sizes[k];
    }
    impl.emplace(aten::ScalarType::Float, static_cast<ssize_t>(sizes.size()), sizes.data(),
                 data.empty() ? nullptr : data.data(), order.data(), strides.data(), dynamism);
  }
  EValue value() { return EValue(aten::Tensor(&*impl)); }

  std::vector<int32_t> sizes;
  std::vector<uint8_t> order;
  std::vector<int32_t> strides;
  std::vector<float> data;
  std::optional<aten::TensorImpl> impl;
};

TEST(PrimOps, SayTheSizesOfTensors) {
  runtime::runtime_init();
  TestTensor tensor({2, 3}, std::vector<float>(6));
  std::vector<EValue> size = {tensor.value(), i(-1), i(0)};
  EXPECT_EQ(run("aten::sym_size.int", size), Error::Ok);
  EXPECT_EQ(size[2].toInt(), 3);
  size[1] = i(2);
  EXPECT_EQ(run("aten::sym_size.int", size), Error::InvalidArgument);
  std::vector<EValue> numel = {tensor.value(), i(0)};
  EXPECT_EQ(run("aten::sym_numel", numel), Error::Ok);
  EXPECT_EQ(numel[1].toInt(), 6);
}

TEST(PrimOps, CopyIndexGrowsItsResult) {
  runtime::runtime_init();
  TestTensor all({3, 2}, std::vector<float>(6), aten::TensorShapeDynamism::DYNAMIC_BOUND);
  for (int64_t k = 0; k < 3; ++k) {
    TestTensor item({2}, {static_cast<float>(k), 1});
    std::vector<EValue> args = {all.value(), item.value(), i(k)};
    ASSERT_EQ(run("executorch_prim::et_copy_index.tensor", args), Error::Ok);
    EXPECT_EQ(all.impl->sizes()[0], k + 1);
  }
  EXPECT_EQ(all.data, (std::vector<float>{0, 1, 1, 1, 2, 1}));
  TestTensor item({2}, {0, 0});
  for (const int64_t wrong : {int64_t{-1}, int64_t{3}, int64_t{INT32_MAX}, INT64_MAX}) {
    std::vector<EValue> args = {all.value(), item.value(), i(wrong)};
    EXPECT_NE(run("executorch_prim::et_copy_index.tensor", args), Error::Ok) << wrong;
  }
  TestTensor longer({3}, {0, 0, 0});
  std::vector<EValue> args = {all.value(), longer.value(), i(2)};
  EXPECT_NE(run("executorch_prim::et_copy_index.tensor", args), Error::Ok);
}

struct ViewCase {
  std::vector<int64_t> size;
  /// Empty: the call must fail.
  std::vector<int32_t> expected;
};

TEST(PrimOps, ViewInfersOneSize) {
  runtime::runtime_init();
  const ViewCase cases[] = {
      {{2, 6}, {2, 6}},
      {{-1, 4}, {3, 4}},
      {{12, -1}, {12, 1}},
      {{-1, -1}, {}},
      {{5, -1}, {}},
      {{2, 5}, {}},
      {{0, -1}, {}},
      {{-2, 6}, {}},
      {{INT64_MAX, 2}, {}},
      {{INT64_MIN, 2}, {}},
      {{1ll << 33, 1ll << 33}, {}},
  };
  for (const ViewCase& c : cases) {
    TestTensor self({3, 4}, std::vector<float>(12));
    TestTensor out({12, 12}, {}, aten::TensorShapeDynamism::DYNAMIC_BOUND);
    std::vector<EValue> items(c.size.begin(), c.size.end());
    std::vector<EValue*> pointers;
    for (EValue& item : items) {
      pointers.push_back(&item);
    }
    std::vector<int64_t> room(items.size());
    BoxedEvalueList<int64_t> list(pointers.data(), room.data(), static_cast<int>(items.size()));
    std::vector<EValue> args = {self.value(), EValue(&list), out.value()};
    const Error error = run("executorch_prim::et_view.default", args);
    EXPECT_EQ(error == Error::Ok, !c.expected.empty());
    if (error == Error::Ok) {
      EXPECT_EQ(std::vector<int32_t>(out.impl->sizes().begin(), out.impl->sizes().end()),
                c.expected);
      EXPECT_EQ(out.impl->data(), self.data.data());
      EXPECT_EQ(out.impl->numel_capacity(), 12u) << "a view has the capacity of its base";
    }
  }
}

}  // namespace
}  // namespace executorch::testing
