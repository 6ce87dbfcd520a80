// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// ATen's own kernels (chosen.yaml) beside the portable ones, and memory that grows.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>
#include <vector>

#include <executorch/kernels/aten/aten_kernels.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/core/exec_aten/util/tensor_growth.h>
#include <executorch/runtime/core/exec_aten/util/tensor_over_memory.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace {

using at::Tensor;
using executorch::kernels::register_aten_kernels;
using executorch::runtime::BoxedEvalueList;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::find_kernel;
using executorch::runtime::Kernel;
using executorch::runtime::KernelPriority;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Span;
namespace internal = executorch::ET_RUNTIME_NAMESPACE::internal;

Error call(const char* name, std::vector<EValue> values) {
  const auto kernel = find_kernel(name);
  if (!kernel.ok()) {
    return kernel.error();
  }
  std::vector<EValue*> arguments;
  for (EValue& value : values) {
    arguments.push_back(&value);
  }
  KernelRuntimeContext context;
  (*kernel)->op_(context, {arguments.data(), arguments.size()});
  return context.failure_state();
}

/// Memory from the heap, up to a limit; counts the blocks.
class Ledger final : public executorch::runtime::DynamicAllocator {
 public:
  explicit Ledger(size_t limit) : left_(limit) {}
  ~Ledger() override { EXPECT_TRUE(blocks_.empty()) << blocks_.size() << " blocks are not freed"; }

  void* allocate(size_t size, size_t alignment) override {
    if (size > left_) {
      return nullptr;
    }
    left_ -= size;
    void* memory = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    blocks_[memory] = size;
    return memory;
  }
  void free(void* memory) override {
    left_ += blocks_.at(memory);
    blocks_.erase(memory);
    ::free(memory);
  }
  size_t blocks() const { return blocks_.size(); }

 private:
  size_t left_;
  std::map<void*, size_t> blocks_;
};

TEST(AtenKernelsTest, AProgramsOperatorsAreWhatTheYamlChose) {
  const Tensor x = at::rand({3, 4});
  Tensor out = at::empty({3, 4});
  EXPECT_EQ(call("aten::add.out", {x, x, int64_t{2}, out}), Error::Ok);
  EXPECT_TRUE(at::allclose(out, x * 3));
  EXPECT_EQ(call("aten::special_bessel_j0.out", {x, out}), Error::Ok);
  EXPECT_TRUE(at::allclose(out, at::special_bessel_j0(x)));
  const auto portable = executorch::runtime::registered_kernel_count();
  size_t of_mul = 0;
  for (size_t i = 0; i < portable; ++i) {
    of_mul += executorch::runtime::registered_kernel(i).name_ == std::string("aten::mul.out");
  }
  EXPECT_EQ(of_mul, 2u);
  EXPECT_EQ((*find_kernel("aten::add.out"))->check_, nullptr) << "not ATen's";
  EXPECT_NE((*find_kernel("aten::mul.out"))->check_, nullptr) << "not the portable one";
  EXPECT_NE((*find_kernel("aten::mm.out"))->check_, nullptr);
}

TEST(AtenKernelsTest, ListsAndAbsentTensorsCross) {
  const Tensor x = at::rand({4, 3}), rows = at::tensor({2, 0});
  EValue of_rows(rows);
  EValue* indices[] = {nullptr, &of_rows};
  std::optional<Tensor> room[2];
  BoxedEvalueList<std::optional<Tensor>> list(indices, room, 2);
  Tensor out = at::empty({4, 2});
  EXPECT_EQ(call("aten::index.Tensor_out", {x, EValue(&list), out}), Error::Ok);
  EXPECT_TRUE(at::equal(out, x.index_select(1, rows)));
  EValue parts[] = {EValue(at::empty({2, 3})), EValue(at::empty({2, 3}))};
  EValue* both[] = {&parts[0], &parts[1]};
  Tensor items[2];
  BoxedEvalueList<Tensor> outputs(both, items, 2);
  EXPECT_EQ(call("aten::split_copy.Tensor_out", {x, int64_t{2}, int64_t{0}, EValue(&outputs)}),
            Error::Ok);
  EXPECT_TRUE(at::equal(parts[1].toTensor(), x.slice(0, 2)));
}

TEST(AtenKernelsTest, AnExceptionOfAtenIsAnError) {
  const Tensor x = at::rand({3, 4}), y = at::rand({5});
  Tensor out = at::empty({3, 4});
  EXPECT_EQ(call("aten::add.out", {x, y, int64_t{1}, out}), Error::InvalidArgument);
  EXPECT_EQ(call("aten::add.out", {x, EValue(), int64_t{1}, out}), Error::InvalidArgument);
  EXPECT_EQ(call("aten::add.out", {int64_t{1}, x, int64_t{1}, out}), Error::InvalidArgument);
  EXPECT_EQ(call("aten::add.out", {x, x}), Error::InvalidProgram);
}

TEST(AtenKernelsTest, OutputsStayWithinTheirMemoryAndKeepTheirDimOrder) {
  float memory[2 * 3 * 4 * 5];
  const int64_t sizes[] = {2, 3, 4, 5}, channels_last[] = {60, 1, 15, 3};
  Tensor out =
      internal::tensor_over_memory(at::kFloat, sizes, channels_last, memory, sizeof(memory));
  const Tensor x = at::rand({2, 3, 2, 5});
  EXPECT_EQ(call("aten::add.out", {x, x, int64_t{1}, out}), Error::Ok);
  EXPECT_TRUE(at::equal(out, x + x));
  EXPECT_EQ(out.const_data_ptr(), memory);
  EXPECT_TRUE(out.is_contiguous(at::MemoryFormat::ChannelsLast));
  const Tensor large = at::rand({2, 3, 8, 5});
  EXPECT_EQ(call("aten::add.out", {large, large, int64_t{1}, out}), Error::InvalidArgument);
  EXPECT_EQ(out.sizes(), x.sizes());
}

TEST(AtenKernelsTest, RegisteringAgainAddsWhatIsNew) {
  const char* const unknown[] = {"aten::sub.out", "aten::no_such.out"};
  EXPECT_EQ(register_aten_kernels(unknown), Error::OperatorMissing);
  EXPECT_NE((*find_kernel("aten::sub.out"))->check_, nullptr);
  const size_t before = executorch::runtime::registered_kernel_count();
  const char* const names[] = {"aten::add.out", "aten::sub.out"};
  EXPECT_EQ(register_aten_kernels(names), Error::Ok);
  EXPECT_EQ(executorch::runtime::registered_kernel_count(), before + 1);
  EXPECT_EQ((*find_kernel("aten::sub.out"))->check_, nullptr);
  EXPECT_EQ((*find_kernel("aten::sub.out"))->written_, uint64_t{1} << 3);
}

TEST(GrowingTensorTest, MemoryComesFromTheDynamicAllocatorAndGoesBack) {
  Ledger ledger(1 << 12);
  internal::TensorGrowth growth;
  const int32_t sizes[] = {0, 4};
  const uint8_t order[] = {0, 1};
  Tensor out = internal::make_growing_tensor(at::kFloat, sizes, order, &ledger, &growth);
  EXPECT_EQ(internal::growth_of(out), &growth);
  // Resize as ATen's kernels do, then as portable kernels do.
  const Tensor x = at::rand({10, 4}), more = at::rand({20, 4});
  EXPECT_EQ(call("aten::add.out", {x, x, int64_t{1}, out}), Error::Ok);
  EXPECT_TRUE(at::equal(out, x + x));
  EXPECT_EQ(executorch::runtime::resize_tensor(out, {12, 4}), Error::Ok);
  EXPECT_TRUE(at::equal(out.slice(0, 0, 10), x + x));
  EXPECT_EQ(call("aten::mul.out", {more, more, out}), Error::Ok);
  EXPECT_TRUE(at::equal(out, more * more));
  EXPECT_EQ(ledger.blocks(), 3u) << "outgrown ones stay until release()";
  internal::TensorGrowth::release(growth);
  EXPECT_EQ(ledger.blocks(), 0u);
  EXPECT_EQ(out.sizes(), at::IntArrayRef({0, 0}));
  const Tensor too_much = at::rand({400, 4});
  EXPECT_EQ(call("aten::add.out", {too_much, too_much, int64_t{1}, out}), Error::InvalidArgument);
  EXPECT_EQ(executorch::runtime::resize_tensor(out, {400, 4}), Error::MemoryAllocationFailed);
  EXPECT_EQ(executorch::runtime::resize_tensor(out, {3, 4}), Error::Ok);
  internal::TensorGrowth::release(growth);
}

}  // namespace
