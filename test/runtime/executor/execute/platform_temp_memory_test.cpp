// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Methods whose MemoryManager has no temp allocator.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <utility>
#include <vector>

#include <executorch/runtime/kernel/platform_memory_allocator.h>
#include <executorch/runtime/platform/platform.h>

#include "runtime/executor/loaded_program.h"
#include "runtime/executor/program_builder.h"
#include "runtime/executor/test_kernels.h"
#include "runtime/log_capture.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::Method;
using runtime::Result;
using runtime::internal::PlatformMemoryAllocator;

/// Counts the memory that the platform gives; `is_empty`: it has none.
class CountedPlatform final {
 public:
  explicit CountedPlatform(bool is_empty = false) : before_(*runtime::get_pal_impl()) {
    pieces = 0;
    live = 0;
    max_live = 0;
    runtime::PalImpl impl;
    impl.allocate = is_empty ? [](size_t) -> void* { return nullptr; } : &allocate;
    impl.free = &release;
    runtime::register_pal(impl);
  }
  ~CountedPlatform() { runtime::register_pal(before_); }

  static inline int pieces, live, max_live;

 private:
  static void* allocate(size_t size) {
    ++pieces;
    max_live = std::max(max_live, ++live);
    return malloc(size);
  }
  static void release(void* memory) {
    live -= memory != nullptr ? 1 : 0;
    free(memory);
  }

  runtime::PalImpl before_;
};

/// Five calls of a kernel that takes temporary memory.
TestProgram temp_program() {
  TestProgram source = add_program();
  source.plans[0].operators = {{"test::temp", "out"}};
  source.plans[0].values.push_back(integer(200));
  source.plans[0].chains = {std::vector<TestInstruction>(5, kernel(0, {0, 3, 2, 2}))};
  return source;
}

/// The program with its method loaded as documented: a method allocator and planned memory alone.
class WithoutTempAllocator : public ::testing::Test {
 protected:
  Error execute(Method& method) {
    ET_CHECK_OK_OR_RETURN_ERROR(set_inputs(method, {a_.value(), a_.value()}));
    return method.execute();
  }

  LoadedProgram program_{temp_program()};
  MethodMemory memory_{*program_->method_meta("forward")};
  runtime::MemoryManager manager_{&memory_.method_allocator(), memory_.manager().planned_memory()};
  Result<Method> method_ = program_->load_method("forward", &manager_);
  FloatTensor a_{{1, 2}};
};

TEST_F(WithoutTempAllocator, ThePlatformGivesMemoryAndGetsItBackAfterEachKernel) {
  const CountedPlatform platform;
  ASSERT_EQ(execute(*method_), Error::Ok);
  EXPECT_EQ(CountedPlatform::pieces, 5);
  EXPECT_EQ(CountedPlatform::max_live, 1);
  EXPECT_EQ(CountedPlatform::live, 0);
}

TEST_F(WithoutTempAllocator, AMovedMethodAndStepsDoTheSame) {
  const CountedPlatform platform;
  Method moved(std::move(*method_));
  ASSERT_EQ(set_inputs(moved, {a_.value(), a_.value()}), Error::Ok);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(moved.step(), Error::Ok);
    EXPECT_EQ(CountedPlatform::live, 0);
  }
  EXPECT_EQ(CountedPlatform::pieces, 5);
}

TEST_F(WithoutTempAllocator, APlatformWithoutMemoryIsAnError) {
  const CountedPlatform platform(/*is_empty=*/true);
  const LogCapture log;
  EXPECT_EQ(execute(*method_), Error::MemoryAllocationFailed);
  EXPECT_TRUE(log.contains("the platform has no")) << log.text();
}

TEST(PlatformMemory, IsAlignedAndGivenBackByReset) {
  const CountedPlatform platform;
  PlatformMemoryAllocator allocator;
  for (const size_t alignment : {size_t{1}, size_t{16}, size_t{4096}}) {
    void* const memory = allocator.allocate(100, alignment);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % alignment, 0u);
  }
  EXPECT_EQ(allocator.used_size(), 300u);
  allocator.reset();
  EXPECT_EQ(allocator.used_size(), 0u);
  EXPECT_EQ(CountedPlatform::live, 0);
}

TEST(PlatformMemory, HugeSizesAndWrongAlignmentsFail) {
  const LogCapture log;
  PlatformMemoryAllocator allocator;
  EXPECT_EQ(allocator.allocate(1, 3), nullptr);
  EXPECT_EQ(allocator.allocate(1, 0), nullptr);
  EXPECT_EQ(allocator.allocate(SIZE_MAX, 64), nullptr);
}

}  // namespace
}  // namespace executorch::testing
