// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/memory_allocator/malloc_dynamic_allocator.h>
#include <gtest/gtest.h>

#include "utils/alignment.h"

namespace {

using executorch::extension::MallocDynamicAllocator;

TEST(MallocDynamicAllocatorTest, ARequestGetsTheSmallestFreedPieceThatIsLargeEnough) {
  MallocDynamicAllocator pieces;
  void* const small = pieces.allocate(100, 16);
  void* const large = pieces.allocate(180, 16);
  void* const medium = pieces.allocate(140, 16);
  for (void* const memory : {large, small, medium}) pieces.free(memory);
  EXPECT_EQ(pieces.pieces_in_use(), 0u);
  EXPECT_EQ(pieces.allocate(120, 16), medium);
  EXPECT_EQ(pieces.allocate(120, 16), large);
  EXPECT_EQ(pieces.allocate(90, 16), small);
  EXPECT_EQ(pieces.pieces_in_use(), 3u);
  for (void* const memory : {large, small, medium}) pieces.free(memory);
}

TEST(MallocDynamicAllocatorTest, AMuchSmallerRequestGetsMemoryOfItsOwn) {
  MallocDynamicAllocator pieces;
  void* const large = pieces.allocate(1000, 16);
  pieces.free(large);
  void* const small = pieces.allocate(100, 16);
  EXPECT_NE(small, large);
  EXPECT_EQ(pieces.peak_bytes(), 1000u);
  pieces.free(small);
}

TEST(MallocDynamicAllocatorTest, MemoryIsAligned) {
  MallocDynamicAllocator pieces;
  for (const size_t alignment : {1, 8, 64, 4096}) {
    void* const memory = pieces.allocate(24, alignment);
    EXPECT_ALIGNED(memory, alignment);
    pieces.free(memory);
  }
}

TEST(MallocDynamicAllocatorTest, ASizeBeyondTheAddressSpaceGivesNull) {
  MallocDynamicAllocator pieces;
  EXPECT_EQ(pieces.allocate(SIZE_MAX, 16), nullptr);
  EXPECT_EQ(pieces.pieces_in_use(), 0u);
}

}  // namespace
