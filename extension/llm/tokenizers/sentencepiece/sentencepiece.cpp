// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <pytorch/tokenizers/sentencepiece.h>

#include <utility>

#include <executorch/extension/llm/tokenizers/ends.h>
#include <executorch/extension/llm/tokenizers/read/file.h>
#include <executorch/extension/llm/tokenizers/sentencepiece/model.h>
#include <executorch/extension/llm/tokenizers/utf8.h>
#include <executorch/runtime/platform/log.h>

namespace tokenizers {

using internal::kSpacePiece;
using internal::PieceOfText;
using internal::SentencePieceModel;
using Type = SentencePieceModel::Type;

SPTokenizer::SPTokenizer() = default;
SPTokenizer::~SPTokenizer() = default;

Error SPTokenizer::load(const std::string& path) {
  initialized_ = false;
  const auto file = internal::read_file(path);
  if (!file.ok()) return file.error();
  auto read = internal::read_sentencepiece(*file);
  if (!read.ok()) return read.error();
  model_ = std::make_unique<SentencePieceModel>(std::move(*read));
  vocab_size_ = int32_t(model_->pieces.size());
  bos_tok_ = model_->bos.value_or(0);
  eos_tok_ = model_->eos.value_or(0);
  unk_tok_ = model_->unknown;
  initialized_ = true;
  return Error::Ok;
}

Result<std::vector<uint64_t>> SPTokenizer::encode(const std::string& input, int8_t bos,
                                                  int8_t eos) const {
  if (!initialized_) return Error::Uninitialized;
  const Error error = internal::check_ends(bos, model_->bos, eos, model_->eos);
  if (error != Error::Ok) return error;
  std::vector<uint64_t> tokens;
  append(tokens, bos, bos_tok_);
  const auto normalized = model_->normalize(input);
  if (!normalized.ok()) return normalized.error();
  const std::string& text = *normalized;
  bool is_behind_unknown = false;
  for (const PieceOfText& piece : model_->divide(text)) {
    const bool is_unknown = piece.id == model_->unknown;
    if (is_unknown && model_->byte_fallback) {
      for (size_t i = 0; i < piece.length; ++i) {
        tokens.push_back(model_->byte_ids[uint8_t(text[piece.first + i])]);
      }
    } else if (!is_unknown || !is_behind_unknown) {
      tokens.push_back(piece.id);
    }
    is_behind_unknown = is_unknown;
  }
  append(tokens, eos, eos_tok_);
  return tokens;
}

Result<std::string> SPTokenizer::decode(uint64_t previous, uint64_t token, bool) const {
  if (!initialized_) return Error::Uninitialized;
  if (token >= model_->pieces.size()) return Error::OutOfRange;
  const SentencePieceModel::Piece& piece = model_->pieces[token];
  if (piece.type == Type::Control) return std::string();
  if (piece.type == Type::Unknown) return model_->unknown_surface;
  if (piece.type == Type::Byte) return std::string(1, char(internal::byte_of_piece(piece.text)));
  std::string_view rest = piece.text;
  const bool strips = model_->add_dummy_prefix || model_->remove_extra_whitespaces;
  const bool at_start =
      previous == kTextStart || (model_->bos.has_value() && previous == *model_->bos);
  if (strips && at_start && rest.substr(0, kSpacePiece.size()) == kSpacePiece) {
    rest.remove_prefix(kSpacePiece.size());
  }
  std::string text;
  while (!rest.empty()) {
    const bool is_space = rest.substr(0, kSpacePiece.size()) == kSpacePiece;
    text += is_space ? ' ' : rest[0];
    rest.remove_prefix(is_space ? kSpacePiece.size() : 1);
  }
  return text;
}

Result<std::string> SPTokenizer::id_to_piece(uint64_t token) const {
  if (!initialized_) return Error::Uninitialized;
  if (token >= model_->pieces.size()) return Error::OutOfRange;
  return model_->pieces[token].text;
}

Result<uint64_t> SPTokenizer::piece_to_id(const std::string& text) const {
  if (!initialized_) return Error::Uninitialized;
  const uint64_t id = model_->id_of(text);
  if (model_->pieces[id].text != text) return Error::OutOfRange;
  return id;
}

}  // namespace tokenizers
