// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <pytorch/tokenizers/hf_tokenizer.h>

#include <algorithm>
#include <utility>

#include <executorch/extension/llm/tokenizers/ends.h>
#include <executorch/extension/llm/tokenizers/hf/model.h>
#include <executorch/extension/llm/tokenizers/utf8.h>
#include <executorch/runtime/platform/log.h>

namespace tokenizers {

using internal::AddedToken;
using internal::HfModel;
using internal::PieceIndex;
using internal::Regex;

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

/// The class \w as Unicode defines it.
bool is_word_character(std::string_view character) {
  static const Regex* const word = [] {
    auto compiled = Regex::compile("^[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]");
    return compiled.ok() ? new Regex(std::move(*compiled)) : nullptr;
  }();
  if (word == nullptr || character.empty()) return false;
  internal::StepBudget steps(character.size());
  const auto matches = word->find_all(character, steps);
  return matches.ok() && !matches->empty();
}

/// Offset of the last character of a text.
size_t last_character(std::string_view text) {
  size_t at = text.size();
  do {
    --at;
  } while (at > 0 && (uint8_t(text[at]) & 0xC0) == 0x80);
  return at;
}

/// Takes added tokens out of a text; the rest goes to `use(text, is_first)`. Errors of `use` end
/// it. As in the package `tokenizers`, the white space that a token strips may hold further added
/// tokens.
template <typename Use>
Error extract_added(const HfModel& model, const PieceIndex& index, const std::string& input,
                    bool is_first, std::vector<uint64_t>& tokens, Use&& use) {
  const std::string_view text = input;
  size_t from = 0;
  size_t spaces_end = 0;  // of the last stripped white space
  for (size_t at = 0; at < text.size();) {
    const auto [length, place] = index.longest(text.substr(at));
    if (length == 0) {
      ++at;
      continue;
    }
    const AddedToken& token = model.added[place];
    size_t first = at, last = at + length;
    at = last;
    if (token.single_word) {
      const std::string_view before = text.substr(0, first), behind = text.substr(last);
      const bool inside =
          (!before.empty() && is_word_character(before.substr(last_character(before)))) ||
          is_word_character(behind.substr(0, internal::character_length(behind)));
      if (inside) continue;
    }
    if (token.lstrip) first = std::max(first, from);
    while (token.lstrip && first > from) {
      const size_t before = last_character(text.substr(0, first));
      if (!internal::is_white_space(internal::code_point(text.substr(before), first - before)))
        break;
      first = before;
    }
    if (token.rstrip) {
      last = std::max(last, spaces_end);
      while (last < text.size()) {
        const size_t size = internal::character_length(text.substr(last));
        if (!internal::is_white_space(internal::code_point(text.substr(last), size))) break;
        last += size;
      }
      spaces_end = last;
    }
    const Error error =
        first > from ? use(input.substr(from, first - from), is_first && from == 0) : Error::Ok;
    if (error != Error::Ok) return error;
    if (first < last) tokens.push_back(token.id);
    from = last;
  }
  return from < text.size() ? use(input.substr(from), is_first && from == 0) : Error::Ok;
}

Error encode_words(const HfModel& model, const std::string& text, bool is_first,
                   internal::TextBudget& budget, std::vector<uint64_t>& tokens) {
  const auto words = internal::divide(model, text, is_first, budget);
  if (!words.ok()) return words.error();
  for (const internal::Word& word : *words) {
    const Error error = internal::encode_word(model, word.text, tokens);
    if (error != Error::Ok) return error;
  }
  return Error::Ok;
}

/// Appends the tokens that begin or end texts: the post-processor's, or the one that files name.
void append_around(std::vector<uint64_t>& tokens, int8_t count, const std::vector<uint64_t>& around,
                   uint64_t token) {
  for (int8_t i = 0; i < count; ++i) {
    if (around.empty()) {
      tokens.push_back(token);
    } else {
      tokens.insert(tokens.end(), around.begin(), around.end());
    }
  }
}

/// Appends the bytes of consecutive byte tokens and clears them. Invalid UTF-8 becomes U+FFFD for
/// each token.
void append_characters(std::string& text, std::string& bytes, size_t& num_bytes) {
  if (internal::is_utf8(bytes)) {
    text += bytes;
  } else {
    for (size_t i = 0; i < num_bytes; ++i) text += "\xEF\xBF\xBD";
  }
  bytes.clear();
  num_bytes = 0;
}

}  // namespace

Result<std::vector<uint64_t>> HFTokenizer::encode(const std::string& input, int8_t bos,
                                                  int8_t eos) const {
  if (!initialized_) return Error::Uninitialized;
  if (!internal::is_utf8(input)) {
    ET_LOG(Error, "tokenizer: expected text in UTF-8");
    return Error::EncodeFailure;
  }
  Error error = internal::check_ends(bos, model_->bos, eos, model_->eos);
  if (error != Error::Ok) return error;
  internal::TextBudget budget(input.size());
  std::vector<uint64_t> tokens;
  append_around(tokens, bos, model_->prefix, bos_tok_);
  error = extract_added(
      *model_, model_->added_raw, input, true, tokens, [&](const std::string& text, bool is_first) {
        const auto normalized = internal::normalize(*model_, text, budget);
        if (!normalized.ok()) return normalized.error();
        return extract_added(*model_, model_->added_normalized, *normalized, is_first, tokens,
                             [&](const std::string& rest, bool is_first_rest) {
                               return encode_words(*model_, rest, is_first_rest, budget, tokens);
                             });
      });
  if (error != Error::Ok) return error;
  append_around(tokens, eos, model_->suffix, eos_tok_);
  return tokens;
}

Result<std::string> HFTokenizer::decode_behind(uint64_t previous, uint64_t token,
                                               bool at_start) const {
  const auto current = model_->pieces.find(token);
  if (current == model_->pieces.end()) return Error::OutOfRange;
  const auto before = model_->pieces.find(previous);
  return internal::decode_piece(
      *model_,
      {current->second, before == model_->pieces.end() ? nullptr : &before->second, at_start});
}

Result<std::string> HFTokenizer::decode(uint64_t previous, uint64_t token,
                                        bool skip_special_tokens) const {
  if (!initialized_) return Error::Uninitialized;
  if (skip_special_tokens && model_->special.count(token) != 0) return std::string();
  const bool is_behind_bos = model_->bos.has_value() && previous == *model_->bos;
  return decode_behind(previous, token, previous == kTextStart || is_behind_bos);
}

Result<std::string> HFTokenizer::decode_text(const std::vector<uint64_t>& tokens,
                                             bool skip_special_tokens) const {
  if (!initialized_) return Error::Uninitialized;
  std::string text, bytes;
  size_t num_bytes = 0;
  uint64_t previous = kTextStart;
  for (const uint64_t token : tokens) {
    if (skip_special_tokens && model_->special.count(token) != 0) continue;
    const auto piece = decode_behind(previous, token, previous == kTextStart);
    if (!piece.ok()) return piece.error();
    if (internal::is_byte(*model_, token)) {
      bytes += *piece;
      ++num_bytes;
    } else {
      append_characters(text, bytes, num_bytes);
      text += *piece;
    }
    previous = token;
  }
  append_characters(text, bytes, num_bytes);
  return text;
}

Result<std::string> HFTokenizer::id_to_piece(uint64_t token) const {
  if (!initialized_) return Error::Uninitialized;
  const auto piece = model_->pieces.find(token);
  if (piece == model_->pieces.end()) return Error::OutOfRange;
  return piece->second;
}

Result<uint64_t> HFTokenizer::piece_to_id(const std::string& text) const {
  if (!initialized_) return Error::Uninitialized;
  const auto id = model_->token_named(text);
  if (!id.has_value()) return Error::OutOfRange;
  return *id;
}

}  // namespace tokenizers
