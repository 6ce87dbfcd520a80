// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <pytorch/tokenizers/hf_tokenizer.h>

#include <executorch/extension/llm/tokenizers/hf_model.h>
#include <executorch/extension/llm/tokenizers/utf8.h>
#include <executorch/runtime/platform/log.h>

namespace tokenizers {

using internal::AddedToken;
using internal::Decoder;
using internal::HfModel;

HFTokenizer::HFTokenizer() = default;
HFTokenizer::~HFTokenizer() = default;

Error HFTokenizer::load(const std::string& path) {
  initialized_ = false;
  auto read = internal::read_hf_model(path);
  if (!read.ok()) return read.error();
  model_ = std::make_unique<HfModel>(std::move(*read));
  vocab_size_ = int32_t(model_->highest + 1);
  bos_tok_ = model_->bos.value_or(0);
  eos_tok_ = model_->eos.value_or(0);
  unk_tok_ = model_->unknown.value_or(0);
  initialized_ = true;
  return Error::Ok;
}

namespace {

/// The symbols of a word: characters that the vocabulary has, bytes of the others, or "unknown".
Result<std::vector<uint64_t>> symbols_of(const HfModel& model, std::string_view word) {
  std::vector<uint64_t> symbols;
  bool was_unknown = false;
  while (!word.empty()) {
    const size_t length = internal::character_length(word);
    const std::string_view character = word.substr(0, length);
    word.remove_prefix(length);
    const auto found = model.ids.find(std::string(character));
    bool is_unknown = found == model.ids.end();
    if (!is_unknown) {
      symbols.push_back(found->second);
    } else if (model.byte_fallback) {
      std::vector<uint64_t> bytes;
      for (const char byte : character) {
        static const char* const kDigits = "0123456789ABCDEF";
        const std::string piece = {
            '<', '0', 'x', kDigits[uint8_t(byte) >> 4], kDigits[uint8_t(byte) & 15], '>'};
        const auto id = model.ids.find(piece);
        if (id != model.ids.end()) bytes.push_back(id->second);
      }
      if (bytes.size() == length) {
        symbols.insert(symbols.end(), bytes.begin(), bytes.end());
        is_unknown = false;
      }
    }
    // A character that nothing stands for is left out, as in the package "tokenizers".
    if (is_unknown && model.unknown.has_value() && !(model.fuse_unknown && was_unknown)) {
      symbols.push_back(*model.unknown);
    }
    was_unknown = is_unknown;
  }
  return symbols;
}

Error encode_words(const HfModel& model, const std::string& text, std::vector<uint64_t>& tokens) {
  auto normalized = internal::normalize(model, text);
  if (!normalized.ok()) return normalized.error();
  const auto words = internal::divide(model, *normalized);
  if (!words.ok()) return words.error();
  for (const std::string& word : *words) {
    if (model.ignore_merges) {
      const auto whole = model.ids.find(word);
      if (whole != model.ids.end()) {
        tokens.push_back(whole->second);
        continue;
      }
    }
    const auto symbols = symbols_of(model, word);
    if (!symbols.ok()) return symbols.error();
    const auto merged = internal::merge_symbols(
        *symbols, [&](uint64_t left, uint64_t right, internal::Merge& merge) {
          const auto found = model.merges.find({left, right});
          if (found == model.merges.end()) return false;
          merge = found->second;
          return true;
        });
    tokens.insert(tokens.end(), merged.begin(), merged.end());
  }
  return Error::Ok;
}

/// The longest added token at the beginning of `text`, or null.
const AddedToken* added_at(const HfModel& model, std::string_view text) {
  for (const size_t length : model.added_lengths) {
    if (length > text.size()) continue;
    const auto found = model.added.find(std::string(text.substr(0, length)));
    if (found != model.added.end()) return &found->second;
  }
  return nullptr;
}

std::string bytes_of(const std::string& piece) {
  std::string bytes;
  std::string_view rest = piece;
  while (!rest.empty()) {
    const size_t length = internal::character_length(rest);
    const int byte =
        length == 0 ? -1 : internal::byte_of_character(internal::code_point(rest, length));
    if (byte < 0) return piece;
    bytes += char(byte);
    rest.remove_prefix(length);
  }
  return bytes;
}

std::string decoded(const HfModel& model, std::string piece, bool at_start) {
  for (const Decoder& step : model.decoders) {
    switch (step.kind) {
      case Decoder::Kind::Bytes:
        piece = bytes_of(piece);
        break;
      case Decoder::Kind::Replace:
        for (size_t at = piece.find(step.from); at != std::string::npos && !step.from.empty();
             at = piece.find(step.from, at + step.to.size())) {
          piece.replace(at, step.from.size(), step.to);
        }
        break;
      case Decoder::Kind::ByteFallback: {
        const int byte = internal::byte_of_piece(piece);
        if (byte >= 0) piece = std::string(1, char(byte));
        break;
      }
      case Decoder::Kind::Strip:
        for (size_t i = 0; at_start && i < step.start && piece.rfind(step.from, 0) == 0; ++i) {
          piece.erase(0, step.from.size());
        }
        break;
      case Decoder::Kind::Fuse:
        break;
    }
  }
  return piece;
}

}  // namespace

Result<std::vector<uint64_t>> HFTokenizer::encode(const std::string& input, int8_t bos,
                                                  int8_t eos) const {
  if (!initialized_) return Error::Uninitialized;
  if (!internal::is_utf8(input)) {
    ET_LOG(Error, "tokenizer: expected text in UTF-8");
    return Error::EncodeFailure;
  }
  if ((bos > 0 && !model_->bos.has_value()) || (eos > 0 && !model_->eos.has_value())) {
    ET_LOG(Error, "tokenizer: no token is known that %s texts", bos > 0 ? "begins" : "ends");
    return Error::EncodeFailure;
  }
  std::vector<uint64_t> tokens(size_t(bos < 0 ? 0 : bos), bos_tok_);
  size_t from = 0;
  for (size_t at = 0; at < input.size();) {
    const AddedToken* const added = added_at(*model_, std::string_view(input).substr(at));
    if (added == nullptr) {
      ++at;
      continue;
    }
    const Error error = encode_words(*model_, input.substr(from, at - from), tokens);
    if (error != Error::Ok) return error;
    tokens.push_back(added->id);
    at += added->content.size();
    from = at;
  }
  const Error error = encode_words(*model_, input.substr(from), tokens);
  if (error != Error::Ok) return error;
  tokens.insert(tokens.end(), size_t(eos < 0 ? 0 : eos), eos_tok_);
  return tokens;
}

Result<std::string> HFTokenizer::decode(uint64_t previous, uint64_t token,
                                        bool skip_special_tokens) const {
  if (!initialized_) return Error::Uninitialized;
  const auto found = model_->pieces.find(token);
  if (found == model_->pieces.end()) return Error::OutOfRange;
  if (model_->added.count(found->second) != 0) {
    const bool skip = skip_special_tokens && model_->special.count(token) != 0;
    return skip ? std::string() : found->second;
  }
  const bool at_start = model_->bos.has_value() && previous == *model_->bos;
  return decoded(*model_, found->second, at_start);
}

Result<std::string> HFTokenizer::id_to_piece(uint64_t token) const {
  if (!initialized_) return Error::Uninitialized;
  const auto found = model_->pieces.find(token);
  if (found == model_->pieces.end()) return Error::OutOfRange;
  return found->second;
}

Result<uint64_t> HFTokenizer::piece_to_id(const std::string& text) const {
  if (!initialized_) return Error::Uninitialized;
  const auto found = model_->ids.find(text);
  if (found == model_->ids.end()) return Error::OutOfRange;
  return found->second;
}

}  // namespace tokenizers
