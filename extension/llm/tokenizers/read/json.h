// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Reads of JSON that never throw: missing members and other types give the default.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <executorch/extension/llm/tokenizers/read/file.h>
#include <executorch/runtime/platform/log.h>

namespace tokenizers::internal {

using Json = nlohmann::json;

/// A member of an object; null if there is none.
inline const Json& member(const Json& object, const char* name) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto value = object.find(name);
  return value == object.end() ? none : *value;
}
inline std::string text_of(const Json& object, const char* name,
                           const std::string& otherwise = {}) {
  const Json& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : otherwise;
}
inline bool flag_of(const Json& object, const char* name, bool otherwise = false) {
  const Json& value = member(object, name);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

/// Deeper files are refused: each level takes 75 times its bytes. Published files have up to 8.
constexpr size_t kMaxJsonDepth = 64;

/// The nesting depth of the lists and objects of JSON text.
inline size_t depth_of(std::string_view text) {
  size_t depth = 0, deepest = 0;
  bool is_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    if (is_string) {
      if (byte == '\\') ++i;
      is_string = byte != '"';
      continue;
    }
    is_string = byte == '"';
    if (byte == '[' || byte == '{') deepest = std::max(deepest, ++depth);
    if ((byte == ']' || byte == '}') && depth > 0) --depth;
  }
  return deepest;
}

/// The object in a file. LoadFailure, after a log message, for another file.
inline Result<Json> parse_json(const std::string& file) {
  const auto text = read_file(file);
  if (!text.ok()) return text.error();
  if (depth_of(*text) > kMaxJsonDepth) {
    ET_LOG(Error, "tokenizer: '%s' is nested more than %zu levels deep", file.c_str(),
           kMaxJsonDepth);
    return Error::LoadFailure;
  }
  Json result = Json::parse(*text, nullptr, false);
  if (!result.is_object()) {
    ET_LOG(Error, "tokenizer: '%s' contains no JSON object", file.c_str());
    return Error::LoadFailure;
  }
  return result;
}

}  // namespace tokenizers::internal
