// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/signature/sha256.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace executorch::extension::signature {
namespace {

std::string hash_of(std::string_view text, size_t part = SIZE_MAX) {
  Sha256Hasher hasher;
  while (!text.empty()) {
    const size_t count = std::min(part, text.size());
    hasher.add(text.data(), count);
    text.remove_prefix(count);
  }
  return to_hex(hasher.finish());
}

TEST(Sha256, GivesTheDigestsOfTheStandardsExamples) {
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesAreDivided) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += static_cast<char>(i * 7);
  }
  for (size_t size = 0; size <= text.size(); ++size) {
    const std::string_view prefix = std::string_view(text).substr(0, size);
    const std::string whole = hash_of(prefix);
    for (const size_t part : {size_t{1}, size_t{55}, size_t{63}, size_t{64}, size_t{65}}) {
      ASSERT_EQ(hash_of(prefix, part), whole) << size << " in parts of " << part;
    }
  }
}

}  // namespace
}  // namespace executorch::extension::signature
