// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Reads tokenizer.json. Nothing here throws: an unexpected type is a ParseFailure.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include <executorch/extension/llm/tokenizers/hf/read.h>

namespace tokenizers::internal {

namespace {

Error read_vocabulary(const Json& bpe, HfModel& model) {
  const Json& vocabulary = member(bpe, "vocab");
  if (!vocabulary.is_object()) return refuse_json("model.vocab: expected an object");
  for (const auto& [piece, id] : vocabulary.items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > kMaxId || piece.size() > kMaxPieceBytes) {
      return refuse_json("model.vocab: expected short pieces with numbers at '" +
                         piece.substr(0, 64) + "'");
    }
    model.ids.emplace(piece, id.get<uint64_t>());
    model.pieces.emplace(id.get<uint64_t>(), piece);
    model.highest = std::max(model.highest, id.get<uint64_t>());
  }
  const std::string unknown = text_of(bpe, "unk_token");
  if (!unknown.empty()) {
    const auto id = model.ids.find(unknown);
    if (id == model.ids.end()) return refuse_json("model.unk_token: the vocabulary has none");
    model.unknown = id->second;
  }
  return Error::Ok;
}

Error read_merges(const Json& bpe, HfModel& model) {
  const Json& merges = member(bpe, "merges");
  if (!merges.is_array()) return refuse_json("model.merges: expected a list");
  double rank = 0;
  for (const Json& merge : merges) {
    std::string left, right;
    if (merge.is_string()) {
      const auto text = merge.get<std::string>();
      const size_t space = text.find(' ');
      if (space != std::string::npos) {
        left = text.substr(0, space);
        right = text.substr(space + 1);
      }
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      left = merge[0].get<std::string>();
      right = merge[1].get<std::string>();
    }
    const auto first = model.ids.find(left), second = model.ids.find(right);
    // As in the package "tokenizers", a merge removes the first bytes of the right part, one for
    // each byte of the prefix.
    const size_t dropped = model.continuing_prefix.size();
    const auto whole =
        dropped > right.size() ? model.ids.end() : model.ids.find(left + right.substr(dropped));
    if (first == model.ids.end() || second == model.ids.end() || whole == model.ids.end()) {
      return refuse_json("model.merges: the vocabulary lacks a part of merge " +
                         std::to_string(int64_t(rank)));
    }
    model.merges[{first->second, second->second}] = {rank++, whole->second};
  }
  return Error::Ok;
}

/// Each character of a text is looked up with both, or becomes a token for each of their bytes.
/// Published files have up to 4 bytes.
constexpr size_t kMaxAffixBytes = 64;

Error read_byte_pairs(const Json& bpe, HfModel& model) {
  model.continuing_prefix = text_of(bpe, "continuing_subword_prefix");
  model.word_suffix = text_of(bpe, "end_of_word_suffix");
  if (model.continuing_prefix.size() > kMaxAffixBytes ||
      model.word_suffix.size() > kMaxAffixBytes) {
    return refuse_json(
        "model: expected a continuing_subword_prefix and an end_of_word_suffix of at most " +
        std::to_string(kMaxAffixBytes) + " bytes");
  }
  const Json& dropout = member(bpe, "dropout");
  if (dropout.is_number()) model.dropout = dropout.get<double>();
  if (!(model.dropout >= 0 && model.dropout <= 1)) {
    return refuse_json("model.dropout: expected a number from 0 to 1");
  }
  model.byte_fallback = flag_of(bpe, "byte_fallback");
  model.fuse_unknown = flag_of(bpe, "fuse_unk");
  model.ignore_merges = flag_of(bpe, "ignore_merges");
  const Error error = read_vocabulary(bpe, model);
  return error == Error::Ok ? read_merges(bpe, model) : error;
}

Error read_word_pieces(const Json& words, HfModel& model) {
  const Json& limit = member(words, "max_input_chars_per_word");
  if (limit.is_number_unsigned()) model.max_word_characters = limit.get<size_t>();
  model.continuing_prefix = text_of(words, "continuing_subword_prefix", "##");
  const Error error = read_vocabulary(words, model);
  if (error != Error::Ok) return error;
  return model.unknown.has_value() ? Error::Ok : refuse_json("model.unk_token: expected a token");
}

Error read_unigram(const Json& unigram, HfModel& model) {
  const Json& vocabulary = member(unigram, "vocab");
  if (!vocabulary.is_array() || vocabulary.empty() || vocabulary.size() > kMaxId) {
    return refuse_json("model.vocab: expected a list");
  }
  for (const Json& piece : vocabulary) {
    const size_t id = model.scores.size();
    if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() || !piece[1].is_number() ||
        !std::isfinite(piece[1].get<double>()) ||
        piece[0].get_ref<const std::string&>().size() > kMaxPieceBytes) {
      return refuse_json("model.vocab: expected a piece and a number at " + std::to_string(id));
    }
    model.scores.push_back(piece[1].get<double>());
    model.pieces.emplace(id, piece[0].get<std::string>());
    model.ids[piece[0].get<std::string>()] = id;
  }
  model.highest = model.scores.size() - 1;
  model.min_score = *std::min_element(model.scores.begin(), model.scores.end());
  model.byte_fallback = flag_of(unigram, "byte_fallback");
  const Json& unknown = member(unigram, "unk_id");
  if (!unknown.is_null()) {
    if (!unknown.is_number_unsigned() || unknown.get<uint64_t>() > model.highest) {
      return refuse_json("model.unk_id: expected the number of a piece");
    }
    model.unknown = unknown.get<uint64_t>();
  }
  model.index = PieceIndex({model.ids.begin(), model.ids.end()});
  return Error::Ok;
}

Error read_model(const Json& root, HfModel& model) {
  using Algorithm = HfModel::Algorithm;
  const Json& read = member(root, "model");
  const std::string type = text_of(read, "type", "BPE");
  if (type == "WordPiece") {
    model.algorithm = Algorithm::WordPiece;
    return read_word_pieces(read, model);
  }
  if (type == "Unigram") {
    model.algorithm = Algorithm::Unigram;
    return read_unigram(read, model);
  }
  if (type == "WordLevel") {
    model.algorithm = Algorithm::WordLevel;
    return read_vocabulary(read, model);
  }
  if (type != "BPE") return refuse_json("model '" + type + "' is not supported");
  return read_byte_pairs(read, model);
}

Error read_added_tokens(const Json& root, HfModel& model) {
  const Json& tokens = member(root, "added_tokens");
  if (tokens.is_null()) return Error::Ok;
  if (!tokens.is_array()) return refuse_json("added_tokens: expected a list");
  for (const Json& token : tokens) {
    const Json& id = member(token, "id");
    const std::string content = text_of(token, "content");
    if (!id.is_number_unsigned() || id.get<uint64_t>() > kMaxId || content.empty() ||
        content.size() > kMaxPieceBytes) {
      return refuse_json("added_tokens: expected id and content");
    }
    const bool special = flag_of(token, "special");
    const uint64_t number = id.get<uint64_t>();
    model.added.push_back({number, content, special, flag_of(token, "normalized", false),
                           flag_of(token, "single_word"), flag_of(token, "lstrip"),
                           flag_of(token, "rstrip")});
    model.added_ids[content] = number;
    model.pieces[number] = content;
    model.highest = std::max(model.highest, number);
    if (special) model.special.insert(number);
  }
  return Error::Ok;
}

/// Indexes the pieces of WordPiece, those inside of words without their prefix.
void index_word_pieces(HfModel& model) {
  if (model.algorithm != HfModel::Algorithm::WordPiece) return;
  const std::string& prefix = model.continuing_prefix;
  std::vector<std::pair<std::string, uint64_t>> continuing;
  for (const auto& [piece, id] : model.ids) {
    if (piece.compare(0, prefix.size(), prefix) == 0) {
      continuing.emplace_back(piece.substr(prefix.size()), id);
    }
  }
  model.index = PieceIndex({model.ids.begin(), model.ids.end()});
  model.continuing_index = PieceIndex(std::move(continuing));
}

/// Indexes the added tokens; the last of equal ones wins.
Error index_added_tokens(HfModel& model) {
  std::map<std::string, uint64_t> raw, normalized;
  size_t bytes = 0;
  for (const AddedToken& token : model.added) bytes += token.content.size();
  TextBudget budget(bytes);
  for (size_t i = 0; i < model.added.size(); ++i) {
    const AddedToken& token = model.added[i];
    if (!token.normalized) {
      raw[token.content] = i;
      continue;
    }
    const auto text = normalize(model, token.content, budget);
    if (!text.ok()) return text.error();
    if (!text->empty()) normalized[*text] = i;
  }
  model.added_raw = PieceIndex({raw.begin(), raw.end()});
  model.added_normalized = PieceIndex({normalized.begin(), normalized.end()});
  return Error::Ok;
}

/// Reads the tokens that begin and end texts from files beside the tokenizer.
void read_roles(const std::filesystem::path& folder, HfModel& model) {
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    std::error_code ignored;
    if (!std::filesystem::exists(folder / name, ignored)) continue;
    const auto config = parse_json(folder / name);
    if (!config.ok()) continue;
    const auto find = [&](const char* role, std::optional<uint64_t>& token) {
      const Json& given = member(*config, role);
      const std::string text =
          given.is_string() ? given.get<std::string>() : text_of(given, "content");
      if (!token.has_value()) token = model.token_named(text);
    };
    find("bos_token", model.bos);
    find("eos_token", model.eos);
  }
}

/// Takes these tokens from the post-processor or, without one, from common names.
void infer_roles(HfModel& model) {
  const auto find = [&](std::initializer_list<const char*> names, std::optional<uint64_t>& token) {
    for (const char* name : names) {
      for (const AddedToken& added : model.added) {
        if (!token.has_value() && added.content == name) token = added.id;
      }
    }
  };
  if (!model.bos.has_value() && !model.prefix.empty()) model.bos = model.prefix.front();
  if (!model.eos.has_value() && !model.suffix.empty()) model.eos = model.suffix.back();
  find({"<s>", "<|begin_of_text|>", "<bos>", "<|startoftext|>", "<|im_start|>", "<|endoftext|>"},
       model.bos);
  find({"</s>", "<|end_of_text|>", "<eos>", "<|im_end|>", "<|endoftext|>"}, model.eos);
}

}  // namespace

Result<HfModel> read_hf_model(const std::string& path) {
  std::filesystem::path file = path;
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) file /= "tokenizer.json";
  const auto root = parse_json(file);
  if (!root.ok()) return root.error();
  HfModel model;
  Error error = read_model(*root, model);
  if (error == Error::Ok) error = read_added_tokens(*root, model);
  if (error == Error::Ok) error = read_steps(*root, model);
  index_word_pieces(model);
  if (error == Error::Ok) error = index_added_tokens(model);
  if (error != Error::Ok) return error;
  for (const auto* around : {&model.prefix, &model.suffix}) {
    for (const uint64_t id : *around) {
      if (model.pieces.count(id) == 0)
        return refuse_json("post_processor: the vocabulary has no token " + std::to_string(id));
    }
  }
  read_roles(file.parent_path(), model);
  infer_roles(model);
  return model;
}

}  // namespace tokenizers::internal
