// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A tokenizer encodes and decodes on several threads. test/thread_sanitizer.sh runs it under
// ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <executorch/extension/llm/tokenizers/open_tokenizer.h>

#include "test_paths.h"

namespace tokenizers::internal {
namespace {

const std::string kText = "hello  w\xC3\xB6rld <s>\n\t 12345 \xE4\xB8\xAD\xE6\x96\x87";

std::string read_back(const Tokenizer& tokenizer) {
  const auto tokens = tokenizer.encode(kText, 1, 1);
  if (!tokens.ok()) return "error " + std::to_string(static_cast<int>(tokens.error()));
  std::string text;
  uint64_t previous = tokenizer.bos_tok();
  for (const uint64_t token : *tokens) {
    const auto piece = tokenizer.decode(previous, token);
    text += piece.ok() ? *piece : "?";
    previous = token;
  }
  return text;
}

TEST(TokenizerThreads, ShareATokenizer) {
  size_t formats = 0;
  for (const auto& file : std::filesystem::directory_iterator(FUZZ_CORPUS "/tokenizer")) {
    SCOPED_TRACE(file.path());
    const auto opened = open_tokenizer(file.path().string(), {});
    if (!opened.ok()) continue;
    ++formats;
    const Tokenizer& tokenizer = **opened;
    const std::string expected = read_back(tokenizer);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < 20; ++round) {
          wrong += read_back(tokenizer) == expected ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }
  EXPECT_GT(formats, 4u);
}

}  // namespace
}  // namespace tokenizers::internal
