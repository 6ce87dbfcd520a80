// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <pytorch/tokenizers/llama2c_tokenizer.h>

#include <cstring>

#include <executorch/extension/llm/tokenizers/pieces/merge.h>
#include <executorch/extension/llm/tokenizers/read/file.h>
#include <executorch/extension/llm/tokenizers/utf8.h>
#include <executorch/runtime/platform/log.h>

namespace tokenizers {
namespace {

/// Piece number of the byte 0.
constexpr uint64_t kFirstByte = 3;
constexpr int32_t kMaxPieceLength = 1 << 16;

template <typename T>
bool take(const std::string& file, size_t& at, T& value) {
  if (file.size() - at < sizeof(value)) return false;
  std::memcpy(&value, file.data() + at, sizeof(value));
  at += sizeof(value);
  return true;
}

}  // namespace

Error Llama2cTokenizer::load(const std::string& path) {
  initialized_ = false;
  const auto contents = internal::read_file(path);
  if (!contents.ok()) return contents.error();
  const std::string& file = *contents;
  int32_t count = 0, bos = 0, eos = 0, longest = 0;
  size_t at = 0;
  const bool has_header = take(file, at, count) && take(file, at, bos) && take(file, at, eos) &&
                          take(file, at, longest);
  // Each piece takes 8 bytes and more.
  if (!has_header || count < 1 || size_t(count) > file.size() / 8 || bos < 0 || bos >= count ||
      eos < 0 || eos >= count || longest < 1 || longest > kMaxPieceLength) {
    ET_LOG(Error, "tokenizer '%s': expected a llama2.c tokenizer, found another header",
           path.c_str());
    return Error::LoadFailure;
  }
  std::vector<std::string> pieces(static_cast<size_t>(count));
  std::vector<float> scores(static_cast<size_t>(count));
  std::map<std::string, uint64_t> ids;
  for (size_t i = 0; i < size_t(count); ++i) {
    int32_t length = 0;
    if (!take(file, at, scores[i]) || !take(file, at, length) || length < 0 ||
        length > kMaxPieceLength || size_t(length) > file.size() - at || scores[i] != scores[i]) {
      ET_LOG(Error, "tokenizer '%s': piece %zu is broken", path.c_str(), i);
      return Error::LoadFailure;
    }
    pieces[i].assign(file, at, size_t(length));
    at += size_t(length);
    ids.emplace(pieces[i], i);
  }
  pieces_ = std::move(pieces);
  scores_ = std::move(scores);
  ids_ = std::move(ids);
  vocab_size_ = count;
  bos_tok_ = uint64_t(bos);
  eos_tok_ = uint64_t(eos);
  initialized_ = true;
  return Error::Ok;
}

Result<std::vector<uint64_t>> Llama2cTokenizer::encode(const std::string& input, int8_t bos,
                                                       int8_t eos) const {
  if (!initialized_) return Error::Uninitialized;
  std::vector<uint64_t> symbols;
  const auto space = ids_.find(" ");
  if (!input.empty() && space != ids_.end()) symbols.push_back(space->second);
  std::string_view rest = input;
  while (!rest.empty()) {
    const size_t length = internal::character_length(rest);
    const auto known = ids_.find(std::string(rest.substr(0, length == 0 ? 1 : length)));
    if (length != 0 && known != ids_.end()) {
      symbols.push_back(known->second);
    } else {
      for (const char byte : rest.substr(0, length == 0 ? 1 : length)) {
        const uint64_t id = uint8_t(byte) + kFirstByte;
        if (id >= pieces_.size()) return Error::EncodeFailure;
        symbols.push_back(id);
      }
    }
    rest.remove_prefix(length == 0 ? 1 : length);
  }
  std::vector<uint64_t> tokens;
  append(tokens, bos, bos_tok_);
  const auto merged =
      internal::merge_symbols(symbols, [&](uint64_t left, uint64_t right, internal::Merge& merge) {
        const auto id = ids_.find(pieces_[left] + pieces_[right]);
        if (id == ids_.end()) return false;
        merge = {-double(scores_[id->second]), id->second};
        return true;
      });
  tokens.insert(tokens.end(), merged.begin(), merged.end());
  append(tokens, eos, eos_tok_);
  return tokens;
}

Result<std::string> Llama2cTokenizer::decode(uint64_t previous, uint64_t token, bool) const {
  if (!initialized_) return Error::Uninitialized;
  if (token >= pieces_.size()) return Error::OutOfRange;
  const std::string& piece = pieces_[token];
  const int byte = internal::byte_of_piece(piece);
  if (byte >= 0) return std::string(1, char(byte));
  const bool at_start = previous == kTextStart || previous == bos_tok_;
  return at_start && !piece.empty() && piece[0] == ' ' ? piece.substr(1) : piece;
}

Result<std::string> Llama2cTokenizer::id_to_piece(uint64_t token) const {
  if (!initialized_) return Error::Uninitialized;
  if (token >= pieces_.size()) return Error::OutOfRange;
  return pieces_[token];
}

Result<uint64_t> Llama2cTokenizer::piece_to_id(const std::string& text) const {
  if (!initialized_) return Error::Uninitialized;
  const auto id = ids_.find(text);
  if (id == ids_.end()) return Error::OutOfRange;
  return id->second;
}

}  // namespace tokenizers
