// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <gtest/gtest.h>

#include <stdlib.h>

#include <algorithm>
#include <map>
#include <vector>

#include <executorch/runtime/core/dynamic_allocator.h>
#include <executorch/runtime/core/portable_type/tensor_growth.h>
#include <executorch/runtime/core/portable_type/tensor_impl.h>

#include "runtime/executor/loaded_program.h"
#include "runtime/executor/program_builder.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using Floats = std::vector<float>;

/// Tracks its allocations, and allows at most `limit` bytes at a time.
class Ledger final : public runtime::DynamicAllocator {
 public:
  ~Ledger() override { EXPECT_TRUE(pieces_.empty()) << pieces_.size() << " pieces leak"; }

  void* allocate(size_t size, size_t alignment) override {
    EXPECT_GT(size, 0u);
    void* piece = nullptr;
    if (size > limit || posix_memalign(&piece, alignment, size) != 0) {
      return nullptr;
    }
    pieces_[piece] = size;
    return piece;
  }
  void free(void* piece) override {
    EXPECT_EQ(pieces_.erase(piece), 1u) << "the piece was not allocated here, or was freed before";
    ::free(piece);
  }

  size_t pieces() const { return pieces_.size(); }
  size_t bytes() const {
    size_t sum = 0;
    for (const auto& [piece, size] : pieces_) {
      sum += size;
    }
    return sum;
  }

  size_t limit = SIZE_MAX;

 private:
  std::map<void*, size_t> pieces_;
};

TestTensor unbounded() {
  TestTensor test_tensor;
  test_tensor.sizes = {0};
  test_tensor.dynamism = fb::TensorShapeDynamism::DYNAMIC_UNBOUND;
  return test_tensor;
}

/// out = (x * 2) * 2; frees the intermediate tensor.
TestProgram scaling() {
  TestPlan plan;
  plan.values = {tensor(unbounded()), real(2), tensor(unbounded()), tensor(unbounded())};
  plan.inputs = {0};
  plan.outputs = {3};
  plan.operators = {{"test::scale", "out"}};
  plan.chains = {{kernel(0, {0, 1, 2}), kernel(0, {2, 1, 3}), free_value(2)}};
  TestProgram program;
  program.plans = {plan};
  return program;
}

class Unbounded final {
 public:
  explicit Unbounded(const TestProgram& source, runtime::DynamicAllocator* dynamic)
      : program_(source),
        memory_(*program_->method_meta("forward")),
        manager_(memory_.manager().method_allocator(), memory_.manager().planned_memory(),
                 memory_.manager().temp_allocator(), dynamic),
        method_(program_->load_method("forward", &manager_)) {}

  Error error() const { return method_.error(); }
  runtime::Method* operator->() { return &*method_; }

 private:
  LoadedProgram program_;
  MethodMemory memory_;
  runtime::MemoryManager manager_;
  runtime::Result<runtime::Method> method_;
};

TEST(UnboundedTensors, TakeWhatTheSizesNeedAndGiveItBack) {
  Ledger ledger;
  {
    Unbounded method(scaling(), &ledger);
    ASSERT_EQ(method.error(), Error::Ok);
    EXPECT_EQ(method->method_meta().num_unbounded_tensors(), 2u);
    EXPECT_TRUE(method->method_meta().output_tensor_meta(0)->is_memory_planned());
    EXPECT_TRUE(method->method_meta().input_tensor_meta(0)->is_unbounded());
    EXPECT_FALSE(method->method_meta().input_tensor_meta(0)->is_memory_planned());
    for (const size_t count : {3u, 1000u, 2u, 0u, 17u}) {
      FloatTensor x(Floats(count, 1.5f));
      ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
      ASSERT_EQ(method->execute(), Error::Ok);
      EXPECT_EQ(floats(method->get_output(0)), Floats(count, 6));
      EXPECT_EQ(ledger.pieces(), count == 0 ? 0u : 1u) << "the other one was freed";
      EXPECT_EQ(ledger.bytes(), count == 0 ? 0 : std::max(count * sizeof(float), sizeof(void*)));
    }
  }
  EXPECT_EQ(ledger.pieces(), 0u);
}

TEST(UnboundedTensors, NeedAnAllocator) {
  const LogCapture log;
  Unbounded method(scaling(), nullptr);
  EXPECT_EQ(method.error(), Error::MemoryAllocationFailed);
  EXPECT_TRUE(
      log.contains("method 'forward', tensor 2 of sizes (0) (0: without bound): a "
                   "MemoryManager with a dynamic allocator is needed"))
      << log.text();
}

TEST(UnboundedTensors, AnAllocatorThatHasTooLittleFailsTheExecutionOnly) {
  Ledger ledger;
  Unbounded method(scaling(), &ledger);
  FloatTensor x(Floats(100, 1));
  ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
  ledger.limit = 399;
  {
    const LogCapture log;
    EXPECT_NE(method->execute(), Error::Ok);
    EXPECT_TRUE(log.contains("lacks 400 bytes")) << log.text();
  }
  ledger.limit = 400;
  EXPECT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(floats(method->get_output(0)), Floats(100, 4));
}

TEST(UnboundedTensors, KeepTheirElementsWhenTheyGrow) {
  Ledger ledger;
  runtime::internal::TensorGrowth growth;
  growth.sizes[0] = 0;
  uint8_t order[] = {0};
  int32_t strides[] = {1};
  runtime::etensor::TensorImpl impl(runtime::etensor::ScalarType::Float, 1, growth.sizes, nullptr,
                                    order, strides, runtime::TensorShapeDynamism::DYNAMIC_UNBOUND);
  make_growing(impl, &ledger, &growth);
  for (int32_t size = 1; size <= 1000; ++size) {
    ASSERT_EQ(impl.resize_contiguous({&size, 1}), Error::Ok);
    impl.mutable_data<float>()[size - 1] = static_cast<float>(size);
  }
  for (int32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(impl.data<float>()[i], static_cast<float>(i + 1));
  }
  EXPECT_LT(ledger.pieces(), 30u) << "it grows by more than it must";
  EXPECT_LT(ledger.bytes(), 5 * impl.nbytes());
  growth.release(growth);
  EXPECT_EQ(impl.numel(), 0);
  EXPECT_EQ(ledger.pieces(), 0u);
  const int32_t negative = -1;
  EXPECT_EQ(impl.resize_contiguous({&negative, 1}), Error::InvalidArgument);
  const int32_t large = INT32_MAX;
  ledger.limit = 1 << 20;
  EXPECT_EQ(impl.resize_contiguous({&large, 1}), Error::MemoryAllocationFailed);
  EXPECT_EQ(impl.numel(), 0);
}

TEST(UnboundedTensors, HaveMemoryOfTheirOwn) {
  Ledger ledger;
  Unbounded method(scaling(), &ledger);
  float memory[4];
  EXPECT_EQ(method->set_output_data_ptr(memory, sizeof(memory), 0), Error::InvalidState);
}

TEST(UnboundedTensors, AreEmptyOnceTheyAreFreed) {
  TestProgram program = scaling();
  program.plans[0].chains = {
      {kernel(0, {0, 1, 2}), free_value(2), free_value(2), free_value(0), kernel(0, {2, 1, 3})}};
  Ledger ledger;
  Unbounded method(program, &ledger);
  FloatTensor x({1, 2, 3});
  ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(floats(method->get_output(0)), Floats());
}

TEST(UnboundedTensors, BeginEmptyForAnySizesInTheFile) {
  TestProgram program = scaling();
  program.plans[0].values[2].tensor.sizes = {1 << 30};
  Ledger ledger;
  Unbounded method(program, &ledger);
  ASSERT_EQ(method.error(), Error::Ok);
  FloatTensor x({1, 2, 3});
  ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(floats(method->get_output(0)), Floats({4, 8, 12}));
}

TEST(UnboundedTensors, OfDimensionsWithABoundKeepIt) {
  TestProgram program = scaling();
  for (const size_t value : {0, 2, 3}) {
    program.plans[0].values[value].tensor.sizes = {0, 2};
    program.plans[0].values[value].tensor.dim_order = {0, 1};
  }
  Ledger ledger;
  Unbounded method(program, &ledger);
  FloatTensor fits({3, 2}, Floats(6, 1));
  EXPECT_EQ(method->set_input(fits.value(), 0), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(floats(method->get_output(0)), Floats(6, 4));
  FloatTensor too_wide({2, 3}, Floats(6, 1));
  EXPECT_EQ(method->set_input(too_wide.value(), 0), Error::InvalidArgument);
}

}  // namespace
}  // namespace executorch::testing
