// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Memory of packed weights: equal contents are stored once, and freed pages are reused.
#include <string.h>

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/backends/xnnpack/runtime/delegate_memory.h>
#include <executorch/backends/xnnpack/runtime/weights/packed_arena.h>
#include <executorch/backends/xnnpack/runtime/weights/packed_weights.h>

namespace executorch::backends::xnnpack {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

std::shared_ptr<PackedBlock> block_of(size_t size, char byte) {
  std::shared_ptr<PackedBlock> block = PackedBlock::allocate(size);
  memset(const_cast<void*>(block->data()), byte, size);
  return block;
}

char* bytes_of(const std::shared_ptr<PackedBlock>& block) {
  return static_cast<char*>(const_cast<void*>(block->data()));
}

TEST(PackedWeights, EqualBytesAreHeldOnce) {
  PackedWeights weights;
  for (const size_t size : {size_t{1}, size_t{63}, size_t{64}, size_t{100}, size_t{70'000}}) {
    const std::shared_ptr<PackedBlock> first = block_of(size, 'a');
    EXPECT_EQ(weights.one_of_equal(first), first);
    EXPECT_EQ(weights.one_of_equal(block_of(size, 'a')), first);
    const std::shared_ptr<PackedBlock> larger = block_of(size + 1, 'a');
    EXPECT_EQ(weights.one_of_equal(larger), larger);
  }
}

TEST(PackedWeights, TogetherHaveALimit) {
  const size_t before = delegate_bytes().taken();
  {
    const std::shared_ptr<PackedBlock> block = block_of(100, 'a');
    extension::TakenBytes others(delegate_bytes());
    ASSERT_TRUE(others.take(max_delegate_bytes() - before - 100, max_delegate_bytes()));
    EXPECT_EQ(PackedBlock::allocate(1), nullptr);
    others.resize(0);
    EXPECT_NE(PackedBlock::allocate(1), nullptr);
  }
  EXPECT_EQ(delegate_bytes().taken(), before);
}

TEST(PackedWeights, BytesBetweenSamplesAreCompared) {
  PackedWeights weights;
  const std::shared_ptr<PackedBlock> first = block_of(70'000, 'a');
  weights.one_of_equal(first);
  for (size_t at = 0; at < first->size(); at += 997) {
    const std::shared_ptr<PackedBlock> other = block_of(70'000, 'a');
    bytes_of(other)[at] = 'b';
    EXPECT_EQ(weights.one_of_equal(other), other) << at;
  }
}

TEST(PackedWeights, WeightsWithoutOwnersAreForgotten) {
  PackedWeights weights;
  weights.one_of_equal(block_of(100, 'a'));
  const std::shared_ptr<PackedBlock> next = block_of(100, 'a');
  EXPECT_EQ(weights.one_of_equal(next), next);
  for (uint64_t key = 0; key < 5000; ++key) {
    weights.insert({key, 0}, block_of(8, 'c'));
    weights.insert({key, 1}, next);
  }
  EXPECT_EQ(weights.size().bytes, next->size());
  EXPECT_EQ(weights.size().blocks, 1u);
  EXPECT_EQ(weights.find({4999, 0}), nullptr);
  EXPECT_EQ(weights.find({0, 1}), next);
}

bool is_zeros(const void* data, size_t size) {
  const auto* const bytes = static_cast<const char*>(data);
  return std::all_of(bytes, bytes + size, [](char byte) { return byte == 0; });
}

TEST(PackedArena, GivesZerosOfMemoryThatWasUsed) {
  for (int round = 0; round < 3; ++round) {
    const std::shared_ptr<PackedArena> arena = PackedArena::create(8 * kMegabyte, 3 * kMegabyte);
    ASSERT_NE(arena, nullptr);
    void* const first = arena->take(2 * kMegabyte, /*overwritten=*/false);
    ASSERT_TRUE(is_zeros(first, 2 * kMegabyte)) << round;
    memset(first, 'x', 2 * kMegabyte);
    void* const dropped = arena->take(kMegabyte, /*overwritten=*/false);
    ASSERT_TRUE(is_zeros(dropped, kMegabyte)) << round;
    memset(dropped, 'y', kMegabyte);
    arena->give_back(dropped);
    void* const second = arena->take(kMegabyte, /*overwritten=*/false);
    EXPECT_EQ(second, dropped);
    ASSERT_TRUE(is_zeros(second, kMegabyte)) << round;
    memset(second, 'z', kMegabyte);
    arena->close();
    EXPECT_EQ(arena->take(1, /*overwritten=*/true), nullptr);
    EXPECT_EQ(static_cast<char*>(first)[2 * kMegabyte - 1], 'x');
  }
}

TEST(PackedArena, TooSmallMemoryIsNotReused) {
  for (const size_t size : {kMegabyte, 5 * kMegabyte, 3 * kMegabyte, 40 * kMegabyte, kMegabyte}) {
    const std::shared_ptr<PackedArena> arena = PackedArena::create(size, size);
    ASSERT_NE(arena, nullptr);
    void* const all = arena->take(size, /*overwritten=*/true);
    ASSERT_NE(all, nullptr) << size;
    memset(all, 'x', size);
    arena->close();
  }
}

TEST(PackedArena, SeveralAtOnceHaveMemoryOfTheirOwn) {
  std::vector<std::shared_ptr<PackedArena>> arenas;
  std::vector<char*> pieces;
  for (char i = 0; i < 4; ++i) {
    arenas.push_back(PackedArena::create(3 * kMegabyte, 2 * kMegabyte));
    ASSERT_NE(arenas.back(), nullptr);
    pieces.push_back(static_cast<char*>(arenas.back()->take(2 * kMegabyte, /*overwritten=*/true)));
    memset(pieces.back(), i, 2 * kMegabyte);
    arenas.back()->close();
  }
  for (char i = 0; i < 4; ++i) {
    EXPECT_EQ(std::count(pieces[static_cast<size_t>(i)],
                         pieces[static_cast<size_t>(i)] + 2 * kMegabyte, i),
              static_cast<long>(2 * kMegabyte));
  }
}

}  // namespace
}  // namespace executorch::backends::xnnpack
