// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/signature/json.h>

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <utility>

namespace executorch::extension::signature {

using runtime::Error;
using runtime::Result;

namespace {

constexpr int kMaxNested = 32;
/// Limits the memory of a hostile document, in which a value may take two bytes. Values of
/// signatures take 20 and more.
constexpr size_t kValuesOfAny = 1000, kBytesPerValue = 16;

bool has_duplicates(const std::vector<std::string>& names) {
  std::vector<std::string_view> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

class Parser final {
 public:
  explicit Parser(std::string_view document)
      : document_(document), values_left_(kValuesOfAny + document.size() / kBytesPerValue) {}

  /// Returns false if the document is invalid at offset().
  bool parse(JsonValue& value) {
    return read_value(value, kMaxNested) && (skip_space(), at_ == document_.size());
  }
  size_t offset() const { return at_; }

 private:
  using Kind = JsonValue::Kind;

  void skip_space() {
    while (at_ < document_.size() &&
           std::string_view(" \t\n\r").find(document_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }

  bool take(char expected) {
    skip_space();
    if (at_ >= document_.size() || document_[at_] != expected) return false;
    ++at_;
    return true;
  }

  bool take_word(std::string_view word) {
    if (document_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool read_value(JsonValue& value, int depth) {
    skip_space();
    if (depth == 0 || at_ >= document_.size() || values_left_-- == 0) return false;
    const size_t begin = at_;
    switch (document_[at_]) {
      case '{':
        return read_items(value, Kind::Object, '}', depth);
      case '[':
        return read_items(value, Kind::Array, ']', depth);
      case '"':
        value.kind = Kind::String;
        return read_string(value.text);
      case 't':
      case 'f':
        value.kind = Kind::Boolean;
        if (!take_word("true") && !take_word("false")) return false;
        break;
      case 'n':
        if (!take_word("null")) return false;
        break;
      default:
        value.kind = Kind::Number;
        if (!skip_number()) return false;
        break;
    }
    value.text = document_.substr(begin, at_ - begin);
    return true;
  }

  bool read_items(JsonValue& value, Kind kind, char end, int depth) {
    value.kind = kind;
    ++at_;
    if (take(end)) return true;
    do {
      if (kind == Kind::Object) {
        skip_space();
        std::string name;
        if (!read_string(name) || !take(':')) return false;
        value.names.push_back(std::move(name));
      }
      value.items.emplace_back();
      if (!read_value(value.items.back(), depth - 1)) return false;
    } while (take(','));
    return take(end) && !has_duplicates(value.names);
  }

  bool skip_digits() {
    const size_t begin = at_;
    while (at_ < document_.size() && document_[at_] >= '0' && document_[at_] <= '9') ++at_;
    return at_ > begin;
  }

  bool skip_number() {
    if (document_[at_] == '-') ++at_;
    if (!(take_word("0") || skip_digits())) return false;
    if (take_word(".") && !skip_digits()) return false;
    if (take_word("e") || take_word("E")) {
      if (!take_word("+")) take_word("-");
      return skip_digits();
    }
    return true;
  }

  bool read_string(std::string& text) {
    if (!take_word("\"")) return false;
    while (at_ < document_.size()) {
      const char character = document_[at_++];
      if (character == '"') return true;
      if (static_cast<unsigned char>(character) < 0x20) return false;
      if (character != '\\') {
        text += character;
      } else if (!read_escape(text)) {
        return false;
      }
    }
    return false;
  }

  bool read_escape(std::string& text) {
    if (at_ >= document_.size()) return false;
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const char name = document_[at_++];
    if (name == 'u') return read_code_point(text);
    const size_t position = kNames.find(name);
    if (position == std::string_view::npos) return false;
    text += kMeanings[position];
    return true;
  }

  bool read_unit(uint32_t& unit) {
    unit = 0;
    for (int i = 0; i < 4; ++i) {
      constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
      const size_t digit =
          at_ < document_.size() ? kDigits.find(document_[at_++]) : std::string_view::npos;
      if (digit == std::string_view::npos) return false;
      unit = unit << 4 | static_cast<uint32_t>(digit < 16 ? digit : digit - 6);
    }
    return true;
  }

  bool read_code_point(std::string& text) {
    uint32_t point = 0, low = 0;
    if (!read_unit(point) || (point >= 0xdc00 && point < 0xe000)) return false;
    if (point >= 0xd800 && point < 0xdc00) {
      if (!take_word("\\u") || !read_unit(low) || low < 0xdc00 || low >= 0xe000) return false;
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    const int more = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    constexpr uint32_t kLeads[] = {0, 0xc0, 0xe0, 0xf0};
    text += static_cast<char>(kLeads[more] | point >> (6 * more));
    for (int i = more - 1; i >= 0; --i) {
      text += static_cast<char>(0x80 | (point >> (6 * i) & 0x3f));
    }
    return true;
  }

  const std::string_view document_;
  size_t at_ = 0;
  size_t values_left_;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view name) const {
  const auto name_place = std::find(names.begin(), names.end(), name);
  return name_place == names.end() ? nullptr
                                   : &items[static_cast<size_t>(name_place - names.begin())];
}

const std::string* JsonValue::find_string(std::string_view name) const {
  const JsonValue* const value = find(name);
  return value != nullptr && value->kind == Kind::String ? &value->text : nullptr;
}

Result<JsonValue> parse_json(std::string_view document) {
  Parser parser(document);
  JsonValue value;
  ET_CHECK_OR_RETURN_ERROR(parser.parse(value), InvalidExternalData,
                           "not a JSON document: invalid at byte %zu of %zu", parser.offset(),
                           document.size());
  return value;
}

}  // namespace executorch::extension::signature
