// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Parser of JSON (RFC 8259) for small, untrusted documents.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <executorch/runtime/core/result.h>

namespace executorch::extension::signature {

struct JsonValue {
  enum class Kind { Null, Boolean, Number, String, Array, Object };

  Kind kind = Kind::Null;
  /// A string's characters in UTF-8; for numbers, booleans and null, their text in the document.
  std::string text;
  /// The items of an array or object.
  std::vector<JsonValue> items;
  /// The names of an object's items, all different.
  std::vector<std::string> names;

  /// Item of this name; null if the value is not an object or lacks the name.
  const JsonValue* find(std::string_view name) const;
  /// String of this name; null if the value is not an object or lacks the name.
  const std::string* find_string(std::string_view name) const;
};

/// Reads a document. InvalidExternalData for invalid JSON, more than 32 levels of nesting, an
/// object with two items of one name, or more than 1000 + bytes / 16 values.
runtime::Result<JsonValue> parse_json(std::string_view document);

}  // namespace executorch::extension::signature
