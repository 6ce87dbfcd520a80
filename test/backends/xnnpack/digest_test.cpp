// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/digest.h>

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace executorch::backends::xnnpack {
namespace {

TEST(Digest, EveryBitAndEverySizeCounts) {
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

TEST(Digest, PiecesAndTheirOrderCount) {
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

}  // namespace
}  // namespace executorch::backends::xnnpack
