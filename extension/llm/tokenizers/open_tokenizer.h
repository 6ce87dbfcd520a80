// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Opens tokenizers of any format: the contents of a file decide, not its name.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pytorch/tokenizers/tokenizer.h>

namespace tokenizers::internal {

/// Options that files of tiktoken lack.
struct TiktokenOptions {
  std::unique_ptr<std::vector<std::string>> special_tokens;
  std::optional<std::string> pattern;
  size_t bos_token_index = 0, eos_token_index = 1;
};

/// Returns true if JSON that begins with `head` is a tekken.json rather than a tokenizer.json.
bool is_tekken(std::string_view head);

/// `path`: a file, or a folder with a tokenizer.json, tekken.json, tokenizer.model or
/// tokenizer.bin; the first one found in this order is read. Errors after a log message.
Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& path, TiktokenOptions options);

}  // namespace tokenizers::internal
