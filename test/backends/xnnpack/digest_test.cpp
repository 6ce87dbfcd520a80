// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/weights/digest/digest.h>
#include <executorch/backends/xnnpack/runtime/weights/digest/quick_digest.h>
#include <stdio.h>
#include <string.h>

#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace executorch::backends::xnnpack {
namespace {

TEST(Digest, DependsOnEveryBitAndSize) {
  std::set<Digest> seen;
  std::string bytes(100, '\0');
  for (size_t size = 0; size <= bytes.size(); ++size) {
    EXPECT_TRUE(seen.insert(digest_of(bytes.data(), size)).second) << size;
  }
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_TRUE(seen.insert(digest_of(bytes.data(), bytes.size())).second) << bit;
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
  EXPECT_EQ(seen.count(digest_of(bytes.data(), bytes.size())), 1u);
}

TEST(Digest, DependsOnThePiecesAndTheirOrder) {
  const auto of = [](const std::string& first, const std::string& second) {
    Digester digester;
    digester.add(first.data(), first.size());
    digester.add(second.data(), second.size());
    return digester.finish();
  };
  const std::set<Digest> seen = {of("ab", "c"), of("a", "bc"), of("c", "ab"), of("abc", ""),
                                 of("", "abc")};
  EXPECT_EQ(seen.size(), 5u);
}

std::string content(size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) {
    bytes.push_back(static_cast<char>((i * 7 + 3) % 251));
  }
  return bytes;
}

/// The digest's bytes in hexadecimal digits.
std::string text_of(const Digest& digest) {
  unsigned char bytes[sizeof(digest)];
  memcpy(bytes, &digest, sizeof(digest));
  std::string text;
  for (const unsigned char byte : bytes) {
    char digits[3];
    snprintf(digits, sizeof(digits), "%02x", byte);
    text += digits;
  }
  return text;
}

// The expected values are Python's: hashlib.blake2b(lane, digest_size=64, fanout=8, depth=2,
// node_offset=l) of the eight lanes, each beginning with a block of the key, and of their results
// with digest_size=16 and node_depth=1.
TEST(Digest, IsTheKeyedTreeOfBlake2b) {
  DigestKey key;
  for (size_t i = 0; i < key.size(); ++i) {
    key[i] = static_cast<uint8_t>(i);
  }
  const std::pair<size_t, const char*> expected[] = {{0, "cfe84a067a8835b1d1afbdc067fb6dbd"},
                                                     {1, "688cdbbe7dc247b2875a336ef5cb922e"},
                                                     {1016, "930b8f737ce702bcae30753dd793d173"},
                                                     {1017, "a157bef1234139c9c16803c31d33e8df"},
                                                     {5000, "f6e2ab777f454ed6072093fca7caeba1"}};
  for (const auto& [size, text] : expected) {
    EXPECT_EQ(text_of(digest_of(content(size).data(), size, key)), text) << size;
  }
}

TEST(Digest, PiecesMayEndAnywhereInAStripe) {
  Digester digester;
  for (const size_t size : {1016, 8, 3000}) {
    digester.add(content(size).data(), size);
  }
  EXPECT_EQ(text_of(digester.finish()), "345dbdf17f81c94182eaa442ca9aa1b7");
}

TEST(Digest, TheQuickDigestDependsOnEveryBitAndSize) {
  std::set<Digest> seen;
  std::string bytes(100, '\0');
  for (size_t size = 0; size <= bytes.size(); ++size) {
    EXPECT_TRUE(seen.insert(quick_digest_of(bytes.data(), size)).second) << size;
  }
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_TRUE(seen.insert(quick_digest_of(bytes.data(), bytes.size())).second) << bit;
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
  EXPECT_EQ(seen.count(quick_digest_of(bytes.data(), bytes.size())), 1u);
}

}  // namespace
}  // namespace executorch::backends::xnnpack
