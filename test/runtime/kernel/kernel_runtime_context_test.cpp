// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <gtest/gtest.h>

#include "runtime/log_capture.h"

using namespace executorch::runtime;

namespace {

TEST(KernelRuntimeContextTest, GivesTemporaryMemoryAsLongAsThereIsSome) {
  LogCapture log;
  alignas(16) uint8_t memory[32];
  MemoryAllocator allocator(sizeof(memory), memory);
  KernelRuntimeContext context(nullptr, &allocator);
  EXPECT_EQ(*context.allocate_temp(16, 16), memory);
  EXPECT_EQ(*context.allocate_temp(16), memory + 16);
  EXPECT_EQ(context.allocate_temp(1).error(), Error::MemoryAllocationFailed);
  EXPECT_EQ(context.failure_state(), Error::Ok);
}

TEST(KernelRuntimeContextTest, WithoutAnAllocatorItReturnsAnErrorWithoutALog) {
  LogCapture log;
  KernelRuntimeContext context;
  EXPECT_EQ(context.allocate_temp(1).error(), Error::NotFound);
  EXPECT_EQ(log.text(), "");
  EXPECT_EQ(context.internal_event_tracer(), nullptr);
}

TEST(KernelRuntimeContextTest, KeepsItsFailure) {
  KernelRuntimeContext context;
  context.fail(Error::InvalidArgument);
  EXPECT_EQ(context.failure_state(), Error::InvalidArgument);
}

}  // namespace
