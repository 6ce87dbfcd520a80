// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Temporary memory of tasks: memory that one task released serves the next.
#include <executorch/extension/async/heap_temp_allocator.h>

#include <gtest/gtest.h>
#include <string.h>

#include <memory>

namespace executorch::testing {
namespace {

using runtime::internal::HeapTempAllocator;
using runtime::internal::KeptTempBlocks;

TEST(HeapTempAllocatorTest, ResetGivesMemoryToTheNextInstruction) {
  KeptTempBlocks kept;
  HeapTempAllocator temp(kept);
  void* const first = temp.allocate(1000);
  memset(first, 1, 1000);
  temp.reset();
  EXPECT_EQ(temp.allocate(600), first);
  EXPECT_EQ(temp.allocate(8), static_cast<char*>(first) + 600);
}

TEST(HeapTempAllocatorTest, ResetReplacesSeveralBlocksByOneOfTheirSize) {
  KeptTempBlocks kept;
  HeapTempAllocator temp(kept);
  for (const size_t size : {1000, 5000}) memset(temp.allocate(size), 1, size);
  temp.reset();
  auto* const first = static_cast<char*>(temp.allocate(1000));
  EXPECT_EQ(temp.allocate(5000), first + 1000);
}

TEST(HeapTempAllocatorTest, ABlockOfADestroyedAllocatorServesOneOther) {
  KeptTempBlocks kept;
  void* first = nullptr;
  {
    HeapTempAllocator temp(kept);
    first = temp.allocate(1000);
  }
  HeapTempAllocator next(kept);
  HeapTempAllocator beside(kept);
  EXPECT_EQ(next.allocate(1000), first);
  EXPECT_NE(beside.allocate(1000), first);
}

TEST(HeapTempAllocatorTest, MemoryIsAlignedAndImpossibleRequestsAreRefused) {
  KeptTempBlocks kept;
  HeapTempAllocator temp(kept);
  EXPECT_NE(temp.allocate(1), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(temp.allocate(3, 4096)) % 4096, 0);
  EXPECT_EQ(temp.allocate(8, 3), nullptr);
  EXPECT_EQ(temp.allocate(SIZE_MAX - 8), nullptr);
}

}  // namespace
}  // namespace executorch::testing
