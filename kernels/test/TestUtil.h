// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// googletest for users' kernels: a fixture with a context and temporary memory, and checks that a
// kernel fails.
#pragma once

#include <gtest/gtest.h>

#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/kernel/kernel_includes.h>
#include <executorch/runtime/platform/runtime.h>
#include <executorch/test/utils/DeathTest.h>

#ifdef USE_ATEN_LIB
// ATen's kernels throw.
#define ET_EXPECT_KERNEL_FAILURE(context, statement) EXPECT_ANY_THROW(statement)
#else
/// Expects, in a test of OperatorTest, that the statement makes the context fail.
#define ET_EXPECT_KERNEL_FAILURE(context, statement)                       \
  do {                                                                     \
    statement;                                                             \
    expect_failure();                                                      \
    EXPECT_NE((context).failure_state(), ::executorch::runtime::Error::Ok) \
        << "expected the kernel to fail, but it did not: " #statement;     \
  } while (0)
#endif
/// The same; the message is ignored.
#define ET_EXPECT_KERNEL_FAILURE_WITH_MSG(context, statement, message) \
  ET_EXPECT_KERNEL_FAILURE(context, statement)

/// A test of a kernel, which must not fail unless the test expects it.
class OperatorTest : public ::testing::Test {
 public:
  void SetUp() override { ::executorch::runtime::runtime_init(); }

  void TearDown() override {
    EXPECT_EQ(context_.failure_state() != ::executorch::runtime::Error::Ok, expect_failure_);
  }

  void expect_failure() { expect_failure_ = true; }

 protected:
  ::executorch::extension::MallocMemoryAllocator temp_allocator_;
  ::executorch::aten::RuntimeContext context_{nullptr, &temp_allocator_};
  bool expect_failure_ = false;
};
