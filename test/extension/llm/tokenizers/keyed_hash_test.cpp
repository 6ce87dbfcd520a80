// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tables of tokenizers keep short buckets whatever keys a file chooses.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include <executorch/extension/llm/tokenizers/pieces/keyed_hash.h>

namespace tokenizers::internal {
namespace {

constexpr uint64_t kKeys = 20'000;
// A bucket of random keys is never that long.
constexpr size_t kLongBucket = 32;

template <typename Table>
size_t longest_bucket(const Table& table) {
  size_t longest = 0;
  for (size_t i = 0; i < table.bucket_count(); ++i) {
    longest = std::max(longest, table.bucket_size(i));
  }
  return longest;
}

TEST(KeyedHash, SpreadsNumbersThatAreMultiplesOfTheNumberOfBuckets) {
  KeyedSet<uint64_t> numbers;
  numbers.reserve(kKeys);
  const uint64_t step = numbers.bucket_count();
  for (uint64_t i = 0; i < kKeys; ++i) numbers.insert(i * step);
  EXPECT_EQ(numbers.bucket_count(), step);
  EXPECT_LT(longest_bucket(numbers), kLongBucket);
}

TEST(KeyedHash, SpreadsPairsOfSuchNumbers) {
  KeyedMap<std::pair<uint64_t, uint64_t>, int> pairs;
  pairs.reserve(kKeys);
  const uint64_t step = pairs.bucket_count();
  for (uint64_t i = 0; i < kKeys; ++i) pairs[{i % 2, i * step}] = 0;
  EXPECT_LT(longest_bucket(pairs), kLongBucket);
}

TEST(KeyedHash, SpreadsStringsThatDifferInAnyByte) {
  KeyedSet<std::string> texts;
  texts.reserve(kKeys);
  for (size_t length = 1; texts.size() + 255 < kKeys; ++length) {
    std::string text(length, 'a');
    for (int byte = 0; byte < 255; ++byte) {
      text[length / 2] = char(byte);
      texts.insert(text);
    }
  }
  EXPECT_LT(longest_bucket(texts), kLongBucket);
}

TEST(KeyedHash, IsTheSameForEqualKeys) {
  const KeyedHash hash;
  EXPECT_EQ(hash(std::string("twelve bytes")), hash(std::string_view("twelve bytes")));
  EXPECT_EQ(hash(uint64_t{7}), hash(uint64_t{7}));
  EXPECT_NE(hash(std::string("")), hash(std::string(1, '\0')));
}

}  // namespace
}  // namespace tokenizers::internal
