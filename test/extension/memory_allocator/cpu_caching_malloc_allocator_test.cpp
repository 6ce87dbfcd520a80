// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/memory_allocator/cpu_caching_malloc_allocator.h>

#include <string.h>

#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/test/utils/alignment.h>

namespace {

using executorch::extension::CPUCachingAllocator;

TEST(CPUCachingAllocatorTest, MemoryIsAlignedAndReusedAfterAReset) {
  CPUCachingAllocator allocator(1 << 20);
  const std::set<void*> first = {allocator.allocate(256), allocator.allocate(256),
                                 allocator.allocate(512)};
  ASSERT_EQ(first.size(), 3u);
  for (void* const memory : first) {
    ASSERT_NE(memory, nullptr);
    EXPECT_ALIGNED(memory, executorch::extension::kCachingAllocatorDefaultAlignment);
    memset(memory, 0x55, 256);
  }
  allocator.reset();
  const std::set<void*> second = {allocator.allocate(512), allocator.allocate(256),
                                  allocator.allocate(256)};
  EXPECT_EQ(second, first);
  EXPECT_EQ(first.count(allocator.allocate(256)), 0u) << "all pieces of this size are in use";
}

TEST(CPUCachingAllocatorTest, APieceIsReusedForItsAlignmentAlone) {
  CPUCachingAllocator allocator(1 << 20);
  allocator.allocate(100, 64);
  allocator.reset();
  void* const memory = allocator.allocate(100, 512);
  ASSERT_NE(memory, nullptr);
  EXPECT_ALIGNED(memory, 512);
}

TEST(CPUCachingAllocatorTest, WrongArgumentsFail) {
  CPUCachingAllocator allocator(1024);
  for (const size_t alignment : {0, 5, 6, 12, 34}) {
    EXPECT_EQ(allocator.allocate(8, alignment), nullptr) << alignment;
  }
  EXPECT_EQ(allocator.allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(allocator.allocate(SIZE_MAX / 2), nullptr);
}

TEST(CPUCachingAllocatorTest, MoreThanTheLimitIsAllocatedAndFreedByReset) {
  CPUCachingAllocator allocator(1024);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3; ++i) {
      void* const memory = allocator.allocate(512);
      ASSERT_NE(memory, nullptr);
      memset(memory, 0xaa, 512);
    }
    allocator.reset();
  }
}

TEST(CPUCachingAllocatorTest, ThreadsShareAnAllocator) {
  CPUCachingAllocator allocator(1 << 20);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (size_t i = 1; i <= 10; ++i) {
        EXPECT_NE(allocator.allocate(64 * i), nullptr);
      }
      allocator.reset();
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
