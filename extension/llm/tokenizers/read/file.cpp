// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/tokenizers/read/file.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <executorch/runtime/platform/log.h>

namespace tokenizers::internal {

Result<std::string> read_file(const std::string& path, size_t limit) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    ET_LOG(Error, "tokenizer '%s': not a file", path.c_str());
    return Error::LoadFailure;
  }
  const auto size = std::filesystem::file_size(path, error);
  if (error || size > kMaxFileBytes) {
    ET_LOG(Error, "tokenizer '%s': expected at most %zu bytes", path.c_str(), kMaxFileBytes);
    return Error::LoadFailure;
  }
  std::string bytes(std::min(size_t(size), limit), '\0');
  std::ifstream stream(path, std::ios::binary);
  if (!stream || !stream.read(bytes.data(), std::streamsize(bytes.size()))) {
    ET_LOG(Error, "tokenizer '%s': cannot be read", path.c_str());
    return Error::LoadFailure;
  }
  return bytes;
}

}  // namespace tokenizers::internal
