// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Reads of JSON that never throw: missing members and other types give the default.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <executorch/extension/llm/tokenizers/file.h>
#include <executorch/runtime/platform/log.h>

namespace tokenizers::internal {

using Json = nlohmann::json;

/// A member of an object; null if there is none.
inline const Json& member(const Json& object, const char* name) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}
inline std::string text_of(const Json& object, const char* name,
                           const std::string& otherwise = {}) {
  const Json& found = member(object, name);
  return found.is_string() ? found.get<std::string>() : otherwise;
}
inline bool flag_of(const Json& object, const char* name, bool otherwise = false) {
  const Json& found = member(object, name);
  return found.is_boolean() ? found.get<bool>() : otherwise;
}

/// The object in a file. LoadFailure, after a log message, for another file.
inline Result<Json> parse_json(const std::string& file) {
  const auto text = read_file(file);
  if (!text.ok()) return text.error();
  Json made = Json::parse(*text, nullptr, false);
  if (!made.is_object()) {
    ET_LOG(Error, "tokenizer: '%s' holds no JSON object", file.c_str());
    return Error::LoadFailure;
  }
  return made;
}

}  // namespace tokenizers::internal
