// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Reads the protobuf message ModelProto of sentencepiece.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <utility>

#include <executorch/extension/llm/tokenizers/read/file.h>
#include <executorch/extension/llm/tokenizers/read/protobuf.h>
#include <executorch/extension/llm/tokenizers/sentencepiece/model.h>
#include <executorch/extension/llm/tokenizers/utf8.h>
#include <executorch/runtime/platform/log.h>

namespace tokenizers::internal {
namespace {

using Model = SentencePieceModel;
using Type = Model::Type;

/// Numbers of fields.
namespace field {
constexpr uint32_t kPieces = 1, kTrainer = 2, kNormalizer = 3;
constexpr uint32_t kPiece = 1, kScore = 2, kType = 3;
constexpr uint32_t kModelType = 3, kWhitespaceIsSuffix = 24, kByteFallback = 35;
constexpr uint32_t kUnknownSurface = 44, kBosPiece = 46, kEosPiece = 47;
constexpr uint32_t kCharMap = 2, kDummyPrefix = 3, kRemoveWhitespaces = 4, kEscape = 5;
}  // namespace field

struct Roles {
  std::string bos = "<s>", eos = "</s>";
};

Error refuse(const char* what, size_t piece = SIZE_MAX) {
  if (piece == SIZE_MAX) {
    ET_LOG(Error, "sentencepiece model: %s", what);
  } else {
    ET_LOG(Error, "sentencepiece model: piece %zu: %s", piece, what);
  }
  return Error::ParseFailure;
}

bool get_text(const ProtobufReader& reader, std::string& text) {
  std::string_view bytes;
  const bool has_bytes = reader.get(bytes);
  text = std::string(bytes);
  return has_bytes;
}

Error read_piece(std::string_view bytes, Model& model) {
  const size_t number = model.pieces.size();
  Model::Piece result;
  ProtobufReader reader(bytes);
  while (reader.next()) {
    bool fits = true;
    uint64_t type = 1;
    switch (reader.field()) {
      case field::kPiece:
        fits = get_text(reader, result.text);
        break;
      case field::kScore:
        fits = reader.get(result.score) && std::isfinite(result.score);
        break;
      case field::kType:
        fits = reader.get(type) && type >= 1 && type <= 6;
        result.type = Type(type);
        break;
      default:
        break;
    }
    if (!fits) return refuse("expected text, a finite score and a known type", number);
  }
  if (!reader.ok() || result.text.empty() || result.text.size() > kMaxPieceBytes) {
    return refuse("malformed", number);
  }
  const bool is_text = result.type == Type::Normal || result.type == Type::UserDefined ||
                       result.type == Type::Unused;
  auto& ids = is_text ? model.ids : model.reserved;
  if (!ids.emplace(result.text, number).second) return refuse("repeated", number);
  model.pieces.push_back(std::move(result));
  return Error::Ok;
}

Error read_trainer(std::string_view bytes, Model& model, Roles& roles) {
  ProtobufReader reader(bytes);
  while (reader.next()) {
    bool fits = true;
    uint64_t algorithm = 1;
    switch (reader.field()) {
      case field::kModelType:
        fits = reader.get(algorithm);
        if (fits && algorithm != 1 && algorithm != 2) {
          return refuse("expected a model of type unigram or BPE");
        }
        model.algorithm = Model::Algorithm(algorithm);
        break;
      case field::kWhitespaceIsSuffix:
        fits = reader.get(model.whitespace_is_suffix);
        break;
      case field::kByteFallback:
        fits = reader.get(model.byte_fallback);
        break;
      case field::kUnknownSurface:
        fits = get_text(reader, model.unknown_surface);
        break;
      case field::kBosPiece:
        fits = get_text(reader, roles.bos);
        break;
      case field::kEosPiece:
        fits = get_text(reader, roles.eos);
        break;
      default:
        break;
    }
    if (!fits) return refuse("an option of training has another type");
  }
  return reader.ok() ? Error::Ok : refuse("options of training are malformed");
}

Error read_normalizer(std::string_view bytes, Model& model) {
  ProtobufReader reader(bytes);
  while (reader.next()) {
    bool fits = true;
    std::string_view map;
    switch (reader.field()) {
      case field::kCharMap:
        fits = reader.get(map);
        if (fits && !map.empty()) {
          model.char_map = CharMap::read(map);
          fits = model.char_map.has_value();
        }
        break;
      case field::kDummyPrefix:
        fits = reader.get(model.add_dummy_prefix);
        break;
      case field::kRemoveWhitespaces:
        fits = reader.get(model.remove_extra_whitespaces);
        break;
      case field::kEscape:
        fits = reader.get(model.escape_whitespaces);
        break;
      default:
        break;
    }
    if (!fits) return refuse("an option of normalization has another type");
  }
  return reader.ok() ? Error::Ok : refuse("options of normalization are malformed");
}

/// Checks the pieces and builds the indices.
Error finish(Model& model, const Roles& roles) {
  std::vector<std::pair<std::string, uint64_t>> text_pieces, user_defined;
  size_t unknowns = 0, bytes = 0;
  model.min_score = FLT_MAX;
  // At least this much in sentencepiece 0.2.3. The bonus of user-defined pieces, which follows from
  // it, decides by rounding between equally likely divisions of the rest of a text.
  model.max_score = 0.1f;
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const Model::Piece& piece = model.pieces[i];
    if (piece.type == Type::Normal) {
      model.min_score = std::min(model.min_score, piece.score);
      model.max_score = std::max(model.max_score, piece.score);
    } else if (piece.type == Type::Unknown) {
      model.unknown = i;
      ++unknowns;
    } else if (piece.type == Type::UserDefined) {
      user_defined.emplace_back(piece.text, i);
    } else if (piece.type == Type::Byte) {
      const int byte = byte_of_piece(piece.text);
      if (byte < 0) return refuse("expected a byte such as <0x0A>", i);
      model.byte_ids[size_t(byte)] = i;
      ++bytes;
    }
  }
  if (unknowns != 1) return refuse("expected one piece for unknown text");
  // Different spellings of one byte are different pieces, so that 256 of them may miss a byte.
  std::vector<uint64_t> distinct(model.byte_ids.begin(), model.byte_ids.end());
  std::sort(distinct.begin(), distinct.end());
  const bool has_all =
      bytes == 256 && std::adjacent_find(distinct.begin(), distinct.end()) == distinct.end();
  if (model.byte_fallback && !has_all) return refuse("expected pieces for all bytes");
  if (!model.byte_fallback && bytes != 0) return refuse("pieces for bytes without byte_fallback");
  for (const auto& [text, id] : model.ids) text_pieces.emplace_back(text, id);
  if (model.algorithm == Model::Algorithm::Unigram) model.index = PieceIndex(text_pieces);
  model.user_defined = PieceIndex(std::move(user_defined));
  const auto control = [&](const std::string& name) -> std::optional<uint64_t> {
    const auto entry = model.reserved.find(name);
    if (entry == model.reserved.end()) return std::nullopt;
    return model.pieces[entry->second].type == Type::Control ? std::optional(entry->second)
                                                             : std::nullopt;
  };
  model.bos = control(roles.bos);
  model.eos = control(roles.eos);
  return Error::Ok;
}

}  // namespace

Result<SentencePieceModel> read_sentencepiece(std::string_view bytes) {
  Model model;
  Roles roles;
  ProtobufReader reader(bytes);
  while (reader.next()) {
    std::string_view part;
    const uint32_t number = reader.field();
    if (number > field::kNormalizer) continue;
    if (!reader.get(part)) return refuse("malformed");
    const Error error = number == field::kPieces    ? read_piece(part, model)
                        : number == field::kTrainer ? read_trainer(part, model, roles)
                                                    : read_normalizer(part, model);
    if (error != Error::Ok) return error;
  }
  if (!reader.ok()) return refuse("malformed");
  const Error error = finish(model, roles);
  if (error != Error::Ok) return error;
  return model;
}

}  // namespace tokenizers::internal
