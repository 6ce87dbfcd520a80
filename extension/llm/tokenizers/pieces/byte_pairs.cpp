// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/tokenizers/pieces/byte_pairs.h>

#include <algorithm>

#include <executorch/extension/llm/tokenizers/pieces/merge.h>
#include <executorch/extension/llm/tokenizers/read/file.h>
#include <executorch/extension/llm/tokenizers/utf8.h>
#include <executorch/runtime/platform/log.h>

namespace tokenizers::internal {

Error BytePairs::insert(const std::string& bytes, uint64_t id) {
  if (bytes.empty() || bytes.size() > kMaxPieceBytes || id > kMaxId ||
      !bytes_.emplace(id, bytes).second) {
    ET_LOG(Error, "tokenizer: token %llu is empty, too long, out of range or repeated",
           static_cast<unsigned long long>(id));
    return Error::ParseFailure;
  }
  highest_ = std::max(highest_, id);
  return Error::Ok;
}

Error BytePairs::add(const std::string& bytes, uint64_t id) {
  const Error error = insert(bytes, id);
  if (error != Error::Ok) return error;
  if (!ids_.emplace(bytes, id).second) {
    ET_LOG(Error, "tokenizer: token %llu has the bytes of another one",
           static_cast<unsigned long long>(id));
    return Error::ParseFailure;
  }
  return Error::Ok;
}

Error BytePairs::add_special(const std::string& text, uint64_t id) {
  const Error error = insert(text, id);
  if (error != Error::Ok) return error;
  if (!special_.emplace(text, id).second) {
    ET_LOG(Error, "tokenizer: special token '%s' is repeated", text.c_str());
    return Error::ParseFailure;
  }
  special_ids_.insert(id);
  return Error::Ok;
}

Error BytePairs::finish(const std::string& pattern) {
  for (int byte = 0; byte < 256; ++byte) {
    if (ids_.count(std::string(1, char(byte))) == 0) {
      ET_LOG(Error, "tokenizer: the vocabulary has no token for the single byte %d", byte);
      return Error::ParseFailure;
    }
  }
  special_index_ = PieceIndex({special_.begin(), special_.end()});
  auto compiled = Regex::compile(pattern, Regex::Dialect::Rust);
  if (!compiled.ok()) return compiled.error();
  pattern_ = std::move(*compiled);
  return Error::Ok;
}

Error BytePairs::encode_ordinary(const std::string& text, StepBudget& steps,
                                 std::vector<uint64_t>& tokens) const {
  if (text.empty()) return Error::Ok;
  const auto words = pattern_->find_all(text, steps);
  if (!words.ok()) return words.error();
  std::string piece;
  for (const auto& [first, last] : *words) {
    piece.assign(text, first, last - first);
    const auto whole = ids_.find(piece);
    if (whole != ids_.end()) {
      tokens.push_back(whole->second);
      continue;
    }
    std::vector<uint64_t> symbols;
    for (const char byte : piece) symbols.push_back(ids_.at(std::string(1, byte)));
    const auto merged = merge_symbols(symbols, [&](uint64_t left, uint64_t right, Merge& merge) {
      piece.assign(bytes_.at(left)).append(bytes_.at(right));
      const auto id = ids_.find(piece);
      if (id == ids_.end()) return false;
      merge = {double(id->second), id->second};
      return true;
    });
    tokens.insert(tokens.end(), merged.begin(), merged.end());
  }
  return Error::Ok;
}

Error BytePairs::encode(const std::string& text, std::vector<uint64_t>& tokens) const {
  if (!is_utf8(text)) {
    ET_LOG(Error, "tokenizer: expected text in UTF-8");
    return Error::EncodeFailure;
  }
  StepBudget steps(text.size());
  size_t from = 0;
  for (size_t at = 0; at < text.size();) {
    const auto [length, id] = special_index_.longest(std::string_view(text).substr(at));
    if (length == 0) {
      ++at;
      continue;
    }
    const Error error = encode_ordinary(text.substr(from, at - from), steps, tokens);
    if (error != Error::Ok) return error;
    tokens.push_back(id);
    at += length;
    from = at;
  }
  return encode_ordinary(text.substr(from), steps, tokens);
}

const std::string* BytePairs::bytes_of(uint64_t id) const {
  const auto piece = bytes_.find(id);
  return piece == bytes_.end() ? nullptr : &piece->second;
}

std::optional<uint64_t> BytePairs::id_of(const std::string& bytes) const {
  const auto special = special_.find(bytes);
  if (special != special_.end()) return special->second;
  const auto ordinary = ids_.find(bytes);
  return ordinary == ids_.end() ? std::nullopt : std::optional(ordinary->second);
}

}  // namespace tokenizers::internal
