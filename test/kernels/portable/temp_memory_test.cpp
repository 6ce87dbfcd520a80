// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/loops/memory/check.h>

#include <gtest/gtest.h>

#include <cstdint>

#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch::kernels {
namespace {

TEST(TempMemory, SizesThatNoAddressSpaceHoldsAreRefused) {
  runtime::runtime_init();
  alignas(16) uint8_t memory[1024];
  // Products of 2^32 and 16 bytes, and of 2^63 and more: the low 32 or 64 bits are few.
  const struct {
    int64_t count, item_size;
  } kRows[] = {{(int64_t{1} << 28) + 1, 16}, {(int64_t{1} << 61) + 1, 8}, {INT64_MAX, 16}};
  for (const auto& row : kRows) {
    runtime::MemoryAllocator allocator(sizeof(memory), memory);
    runtime::KernelRuntimeContext context(nullptr, &allocator);
    EXPECT_EQ(allocate(context, row.count, row.item_size), nullptr) << row.count;
    EXPECT_NE(context.failure_state(), runtime::Error::Ok) << row.count;
  }
}

}  // namespace
}  // namespace executorch::kernels
