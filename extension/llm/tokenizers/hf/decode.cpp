// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Decoders of tokenizer.json: from pieces to text.
#include <algorithm>
#include <string_view>
#include <utility>

#include <executorch/extension/llm/tokenizers/hf/model.h>
#include <executorch/extension/llm/tokenizers/utf8.h>

namespace tokenizers::internal {
namespace {

std::string bytes_of(const std::string& piece) {
  std::string bytes;
  std::string_view rest = piece;
  while (!rest.empty()) {
    const size_t length = character_length(rest);
    const int byte = length == 0 ? -1 : byte_of_character(code_point(rest, length));
    if (byte < 0) return piece;
    bytes += char(byte);
    rest.remove_prefix(length);
  }
  return bytes;
}

/// Replaces `from` by `to`, which is not longer.
void shorten_all(std::string& text, const std::string& from, const std::string& to) {
  TextBudget budget(text.size());
  auto result = replaced(text, from, to, budget);
  if (result.ok()) text = std::move(*result);
}

/// Removes spaces in front of punctuation and English contractions.
std::string cleaned(std::string piece) {
  static const std::pair<const char*, const char*> kCleanups[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kCleanups) shorten_all(piece, from, to);
  return piece;
}

/// A piece of WordPiece: a word begins with it unless it has the prefix.
std::string word_piece(const Decoder& step, std::string piece, bool at_start) {
  if (!at_start) {
    if (piece.rfind(step.from, 0) == 0) {
      piece.erase(0, step.from.size());
    } else {
      piece.insert(0, 1, ' ');
    }
  }
  return step.cleanup ? cleaned(std::move(piece)) : piece;
}

std::string byte_pairs_piece(const Decoder& step, const PieceInText& decoded) {
  std::string piece = decoded.piece;
  const auto ends = [&](const std::string& text) {
    return text.size() >= step.from.size() &&
           text.compare(text.size() - step.from.size(), step.from.size(), step.from) == 0;
  };
  if (ends(piece)) piece.resize(piece.size() - step.from.size());
  shorten_all(piece, step.from, " ");
  return !decoded.at_start && decoded.previous != nullptr && ends(*decoded.previous) ? " " + piece
                                                                                     : piece;
}

/// Removes up to `start` and `stop` occurrences of `from` at the ends of a piece.
std::string stripped(const Decoder& step, const std::string& piece) {
  std::string_view rest = piece;
  const std::string_view from = step.from;
  for (size_t i = 0; !from.empty() && i < step.start && rest.substr(0, from.size()) == from; ++i) {
    rest.remove_prefix(from.size());
  }
  for (size_t i = 0; !from.empty() && i < step.stop && rest.size() >= from.size() &&
                     rest.substr(rest.size() - from.size()) == from;
       ++i) {
    rest.remove_suffix(from.size());
  }
  return std::string(rest);
}

std::string ctc_piece(const Decoder& step, const PieceInText& decoded) {
  std::string piece = decoded.piece;
  if (!decoded.at_start && decoded.previous != nullptr && *decoded.previous == piece) return {};
  if (!step.from.empty()) shorten_all(piece, step.from, "");
  if (!step.cleanup) return piece;
  piece = cleaned(std::move(piece));
  if (!step.to.empty()) shorten_all(piece, step.to, " ");
  return piece;
}

}  // namespace

Result<std::string> decode_piece(const HfModel& model, PieceInText decoded) {
  std::string& piece = decoded.piece;
  const bool at_start = decoded.at_start;
  // Without a decoder, the pieces are words.
  if (model.decoders.empty()) return at_start ? piece : " " + piece;
  TextBudget budget(piece.size());
  for (const Decoder& step : model.decoders) {
    const Error error = budget.spend(piece.size() + 1);
    if (error != Error::Ok) return error;
    switch (step.kind) {
      case Decoder::Kind::Bytes:
        piece = bytes_of(piece);
        break;
      case Decoder::Kind::Replace:
        if (auto result = replaced(piece, step.from, step.to, budget); result.ok()) {
          piece = std::move(*result);
        } else {
          return result.error();
        }
        break;
      case Decoder::Kind::ByteFallback: {
        const int byte = byte_of_piece(piece);
        if (byte >= 0) piece = std::string(1, char(byte));
        break;
      }
      case Decoder::Kind::Strip:
        if (at_start || !step.has_whole_text) piece = stripped(step, piece);
        break;
      case Decoder::Kind::WordPiece:
        piece = word_piece(step, std::move(piece), at_start);
        break;
      case Decoder::Kind::Metaspace:
        // At the start of a text, none of the replacements in the piece is a space.
        shorten_all(piece, step.from, at_start && step.start != 0 ? "" : " ");
        break;
      case Decoder::Kind::BytePairs:
        piece = byte_pairs_piece(step, decoded);
        break;
      case Decoder::Kind::Ctc:
        piece = ctc_piece(step, decoded);
        break;
      case Decoder::Kind::Fuse:
        break;
    }
  }
  return piece;
}

bool is_byte(const HfModel& model, uint64_t token) {
  const auto piece = model.pieces.find(token);
  return piece != model.pieces.end() && byte_of_piece(piece->second) >= 0 &&
         std::any_of(model.decoders.begin(), model.decoders.end(),
                     [](const Decoder& step) { return step.kind == Decoder::Kind::ByteFallback; });
}

}  // namespace tokenizers::internal
