// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <gtest/gtest.h>
#include <string.h>

using executorch::extension::MallocMemoryAllocator;

namespace {

TEST(MallocMemoryAllocatorTest, GivesAlignedMemoryUntilReset) {
  MallocMemoryAllocator allocator;
  for (const size_t alignment : {size_t{1}, size_t{16}, size_t{64}, size_t{4096}}) {
    void* piece = allocator.allocate(100, alignment);
    ASSERT_NE(piece, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % alignment, 0u);
    memset(piece, 1, 100);
  }
  EXPECT_GE(allocator.used_size(), 400u);
  allocator.reset();
  EXPECT_EQ(allocator.used_size(), 0u);
  EXPECT_NE(allocator.allocate(0), nullptr);
}

TEST(MallocMemoryAllocatorTest, HugeSizesAndWrongAlignmentsFail) {
  MallocMemoryAllocator allocator;
  EXPECT_EQ(allocator.allocate(1, 3), nullptr);
  EXPECT_EQ(allocator.allocate(1, 0), nullptr);
  volatile size_t everything = SIZE_MAX;  // the compiler refuses to see it
  EXPECT_EQ(allocator.allocate(everything, 64), nullptr);
  EXPECT_EQ(allocator.allocateList<uint64_t>(SIZE_MAX / 4), nullptr);
}

}  // namespace
