// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <gtest/gtest.h>

#include <string.h>

#include <string>
#include <vector>

#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/executor/execute/parametric_plan.h>
#include <executorch/runtime/kernel/boxing.h>

#include "runtime/executor/loaded_program.h"
#include "runtime/executor/program_builder.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::Span;
using Words = std::vector<uint32_t>;
using Floats = std::vector<float>;

/// Version 1, 6 steps, 2 tensors, the height is step 5. n is the size of input 0.
const Words kPlan = {
    1, 6, 2, 5, 1, 0, 0,  // 0: n
    0, 4, 0,              // 1: 4
    3, 0, 1,              // 2: 4 n
    0, 0, 0,              // 3: 0
    2, 3, 2,              // 4: the end of the first tensor
    2, 4, 2,              // 5: the end of the second
    1, 3, 1, 0,           // value 1 at 0, of size n
    2, 4, 1, 0,           // value 2 above it, of size n
};
constexpr size_t kSteps = 4;
constexpr size_t kTensors = 22;

TestTensor dynamic(uint32_t memory_id, uint64_t offset) {
  TestTensor test_tensor;
  test_tensor.sizes = {8};
  test_tensor.dynamism = fb::TensorShapeDynamism::DYNAMIC_BOUND;
  test_tensor.memory_id = memory_id;
  test_tensor.offset = offset;
  return test_tensor;
}

/// out = (x + x) + (x + x), x having up to 8 elements.
TestProgram doubling(const Words& words) {
  TestPlan plan;
  plan.values = {tensor(dynamic(0, 0)), tensor(dynamic(1, 0)), tensor(dynamic(1, 32))};
  plan.inputs = {0};
  plan.outputs = {2};
  plan.operators = {{"test::add", "out"}};
  plan.chains = {{kernel(0, {0, 0, 1, 1}), kernel(0, {1, 1, 2, 2})}};
  TestProgram program;
  program.plans = {plan};
  program.segment_data.resize(words.size() * sizeof(uint32_t));
  memcpy(program.segment_data.data(), words.data(), program.segment_data.size());
  program.segments = {{0, program.segment_data.size()}};
  program.named_data = {{std::string(runtime::internal::kParametricPlanPrefix) + "forward", 0}};
  return program;
}

/// The method with a buffer of the caller's, which may change.
class Parametric final {
 public:
  explicit Parametric(const TestProgram& source)
      : program_(source),
        meta_(*program_->method_meta("forward")),
        block_(meta_.method_allocator_size() / 8 + 1),
        allocator_(static_cast<uint32_t>(meta_.method_allocator_size()),
                   reinterpret_cast<uint8_t*>(block_.data())),
        planned_(Span<Span<uint8_t>>(&buffer_, 1)),
        manager_(&allocator_, &planned_),
        method_(program_->load_method("forward", &manager_)) {}

  void give(std::vector<uint64_t>& memory, size_t bytes) {
    buffer_ = {reinterpret_cast<uint8_t*>(memory.data()), bytes};
  }
  const runtime::MethodMeta& meta() const { return meta_; }
  Error error() const { return method_.error(); }
  runtime::Method* operator->() { return &*method_; }

 private:
  LoadedProgram program_;
  runtime::MethodMeta meta_;
  std::vector<uint64_t> block_;
  runtime::MemoryAllocator allocator_;
  Span<uint8_t> buffer_;
  runtime::HierarchicalAllocator planned_;
  runtime::MemoryManager manager_;
  runtime::Result<runtime::Method> method_;
};

TEST(ParametricPlan, NeedsWhatTheInputsNeed) {
  Parametric method(doubling(kPlan));
  ASSERT_EQ(method.error(), Error::Ok);
  EXPECT_TRUE(method.meta().is_memory_plan_parametric());
  EXPECT_EQ(*method.meta().memory_planned_buffer_size(0), 64) << "the limit";
  std::vector<uint64_t> memory(8);
  for (const size_t count : {1u, 5u, 8u, 2u}) {
    FloatTensor x(Floats(count, 1.5f));
    ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
    EXPECT_EQ(*method->memory_planned_buffer_size(0), 8 * count);
    method.give(memory, 8 * count);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(floats(method->get_output(0)), Floats(count, 6));
    EXPECT_EQ(method->execute(), Error::Ok) << "the same again";
  }
}

TEST(ParametricPlan, RefusesABufferThatIsTooSmall) {
  Parametric method(doubling(kPlan));
  std::vector<uint64_t> memory(8);
  FloatTensor x({1, 2, 3});
  ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
  method.give(memory, 23);
  {
    const LogCapture log;
    EXPECT_EQ(method->execute(), Error::MemoryAllocationFailed);
    EXPECT_TRUE(log.contains("inputs of these sizes need 24 bytes of planned buffer 0"))
        << log.text();
  }
  method.give(memory, 24);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST(ParametricPlan, FollowsTheBufferToAnotherPlace) {
  Parametric method(doubling(kPlan));
  std::vector<uint64_t> first(8);
  std::vector<uint64_t> second(8);
  FloatTensor x({1, 2, 3});
  ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
  for (std::vector<uint64_t>* memory : {&first, &second}) {
    method.give(*memory, 24);
    ASSERT_EQ(method->execute(), Error::Ok);
    const void* end = memory->data() + 3;
    const void* place = method->get_output(0).toTensor().const_data_ptr();
    EXPECT_TRUE(place >= memory->data() && place < end);
  }
}

TEST(ParametricPlan, RefusesSizesForWhichAResultIsWhereAnOperandIs) {
  Words words = kPlan;
  words[kTensors + 5] = 1;  // value 2 at byte 4, whatever n is
  Parametric method(doubling(words));
  ASSERT_EQ(method.error(), Error::Ok);
  std::vector<uint64_t> memory(8);
  method.give(memory, 64);
  for (const size_t count : {1u, 3u, 1u, 8u, 8u, 1u}) {
    FloatTensor x(Floats(count, 1.5f));
    ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
    const LogCapture log;
    const bool is_apart = count == 1;
    EXPECT_EQ(method->execute(), is_apart ? Error::Ok : Error::InvalidProgram) << count;
    EXPECT_TRUE(is_apart || log.contains("the parametric plan makes values overlap")) << log.text();
    if (is_apart) {
      EXPECT_EQ(floats(method->get_output(0)), Floats({6}));
    }
  }
}

aten::Tensor& keep_out(runtime::KernelRuntimeContext& context, const aten::Tensor& a,
                       aten::Tensor& out) {
  ET_KERNEL_CHECK(context, runtime::resize_tensor(out, a.sizes()) == Error::Ok, InvalidArgument,
                  out);
  return out;
}

/// Kernels of one operator: operands and results of floats must lie apart, those of bytes need not.
constexpr runtime::Kernel keyed(const char* key, uint64_t options) {
  runtime::Kernel kernel = runtime::make_kernel<&keep_out>("test::keyed.out").with(options);
  kernel.kernel_key_ = runtime::KernelKey(key);
  return kernel;
}
constexpr runtime::Kernel kKeyed[] = {keyed("v1/6;0|6;0", runtime::Kernel::kDisjoint),
                                      keyed("v1/0;0|0;0", 0)};
[[maybe_unused]] const Error registered = runtime::register_kernels(kKeyed);

TEST(ParametricPlan, AppliesTheRulesOfEachCallsKernel) {
  for (const bool floats_are_last : {false, true}) {
    Words words = kPlan;
    words[kTensors + 5] = 3;  // value 2 where value 1 is
    TestProgram program = doubling(words);
    TestPlan& plan = program.plans[0];
    TestTensor byte;
    byte.type = fb::ScalarType::BYTE;
    plan.values.insert(plan.values.end(), {tensor(byte), tensor(byte)});
    plan.inputs.push_back(3);
    plan.outputs.push_back(4);
    plan.operators.emplace_back("test::keyed", "out");
    std::vector<TestInstruction>& calls = plan.chains[0];
    calls = {kernel(0, {0, 0, 1, 1}), kernel(1, {1, 2, 2}), kernel(1, {3, 4, 4})};
    if (floats_are_last) std::swap(calls[1], calls[2]);
    Parametric method(program);
    ASSERT_EQ(method.error(), Error::Ok);
    std::vector<uint64_t> memory(8);
    method.give(memory, 64);
    FloatTensor x({1, 2, 3});
    uint8_t bytes[2] = {}, results[2] = {};
    aten::SizesType size = 2;
    aten::TensorImpl impl(aten::ScalarType::Byte, 1, &size, bytes);
    ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
    ASSERT_EQ(method->set_input(runtime::EValue(aten::Tensor(&impl)), 1), Error::Ok);
    ASSERT_EQ(method->set_output_data_ptr(results, sizeof(results), 1), Error::Ok);
    const LogCapture log;
    EXPECT_EQ(method->execute(), Error::InvalidProgram) << floats_are_last;
    EXPECT_TRUE(log.contains("shares bytes with value")) << log.text();
  }
}

TEST(ParametricPlan, TakesAnOutputAsTheNextInput) {
  Parametric method(doubling(kPlan));
  std::vector<uint64_t> memory(8);
  method.give(memory, 64);
  FloatTensor x({1, 2, 3});
  ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  ASSERT_EQ(method->set_input(method->get_output(0), 0), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
}

TEST(ParametricPlan, IsRefusedIfItIsInvalid) {
  const std::vector<std::pair<size_t, uint32_t>> changes = {
      {1, 0},
      {1, 7},
      {1, UINT32_MAX},
      {2, 1},
      {2, 3},
      {3, 6},
      {kSteps, 6},
      {kSteps + 1, 1},
      {kSteps + 2, 1},
      {kSteps + 7, 2},
      {kTensors, 0},
      {kTensors, 2},
      {kTensors, 3},
      {kTensors + 1, 6},
      {kTensors + 2, 0},
      {kTensors + 2, 2},
      {kTensors + 3, 6},
  };
  const LogCapture log;
  for (const auto& [word, value] : changes) {
    Words words = kPlan;
    words[word] = value;
    EXPECT_EQ(Parametric(doubling(words)).error(), Error::InvalidProgram) << word << ": " << value;
  }
  Words words = kPlan;
  words[0] = 2;
  EXPECT_EQ(Parametric(doubling(words)).error(), Error::NotSupported) << "another version";
  TestProgram broken = doubling(kPlan);
  broken.segments[0].second -= 1;
  EXPECT_EQ(Parametric(broken).error(), Error::InvalidProgram);
  TestProgram planned_input = doubling(kPlan);
  planned_input.plans[0].values[0] = tensor(dynamic(1, 0));
  EXPECT_EQ(Parametric(planned_input).error(), Error::InvalidProgram);
}

TEST(ParametricPlan, IsRefusedWithoutTheBufferThatItIsAbout) {
  // A plan of one step and no tensors, for a method without planned memory.
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{}, std::vector<int64_t>{0}}) {
    TestProgram program = doubling({1, 1, 0, 0, 0, 8, 0});
    TestPlan& plan = program.plans[0];
    plan.values = {tensor(dynamic(0, 0))};
    plan.outputs = {0};
    plan.chains = {{}};
    plan.buffer_sizes = sizes;
    const LogCapture log;
    EXPECT_EQ(Parametric(program).error(), Error::InvalidProgram);
    EXPECT_TRUE(log.contains("has " + std::to_string(sizes.size()) +
                             " planned buffers with the reserved one, expected at least 2"))
        << log.text();
  }
}

TEST(ParametricPlan, PlacesNothingOutsideOfTheBufferForAnyPlan) {
  const LogCapture log;
  for (size_t word = 0; word < kPlan.size(); ++word) {
    for (const uint32_t value : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 100u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
      Words words = kPlan;
      words[word] = value;
      Parametric method(doubling(words));
      if (method.error() != Error::Ok) {
        continue;
      }
      std::vector<uint64_t> memory(12, 0x5A5A5A5A5A5A5A5A);
      method.give(memory, 64);
      FloatTensor x({1, 2, 3});
      ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
      const Error error = method->execute();
      for (size_t i = 8; i < memory.size(); ++i) {
        EXPECT_EQ(memory[i], 0x5A5A5A5A5A5A5A5A) << word << ": " << value;
      }
      if (error == Error::Ok) {
        EXPECT_EQ(method->get_output(0).toTensor().numel(), 3);
      }
    }
  }
}

}  // namespace
}  // namespace executorch::testing
