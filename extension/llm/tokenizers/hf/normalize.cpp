// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The steps of a normalizer.
#include <utf8proc.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <executorch/extension/llm/tokenizers/hf/model.h>
#include <executorch/extension/llm/tokenizers/utf8.h>
#include <executorch/runtime/platform/log.h>

namespace tokenizers::internal {
namespace {

using Kind = Normalizer::Kind;

Result<std::string> replaced_pattern(const std::string& text, const Regex& pattern,
                                     const std::string& to, TextBudget& budget) {
  const auto matches = pattern.find_all(text, budget.matching());
  if (!matches.ok()) return matches.error();
  std::string result;
  size_t at = 0;
  for (const Range& match : *matches) {
    const Error error = budget.spend(to.size());
    if (error != Error::Ok) return error;
    result.append(text, at, match.first - at).append(to);
    at = match.second;
  }
  return result.append(text, at);
}

/// Calls use(character, code point) for the characters of well-formed text.
template <typename Use>
void each_character(std::string_view text, Use&& use) {
  while (!text.empty()) {
    const size_t length = character_length(text);
    use(text.substr(0, length), code_point(text, length));
    text.remove_prefix(length);
  }
}

/// Sorts each run of combining marks by their class. utf8proc sorts them by exchanges of neighbors,
/// which takes quadratic time.
void order_marks(std::vector<utf8proc_int32_t>& points) {
  const auto class_of = [](utf8proc_int32_t point) {
    return utf8proc_get_property(point)->combining_class;
  };
  for (auto first = points.begin(); first != points.end();) {
    const auto last =
        std::find_if(first, points.end(), [&](auto point) { return class_of(point) == 0; });
    std::stable_sort(first, last, [&](auto a, auto b) { return class_of(a) < class_of(b); });
    first = last == points.end() ? last : last + 1;
  }
}

/// A Unicode normalization form of well-formed text.
Result<std::string> composed(const std::string& text, int options) {
  // The longest decomposition, of U+FDFA, has 18 characters.
  constexpr utf8proc_ssize_t kLongest = 32;
  const auto all = utf8proc_option_t(options | UTF8PROC_STABLE);
  std::vector<utf8proc_int32_t> points;
  points.reserve(text.size());
  utf8proc_ssize_t status = 0;
  each_character(text, [&](std::string_view, uint32_t point) {
    utf8proc_int32_t decomposed[kLongest];
    int boundary = 0;
    const utf8proc_ssize_t length =
        utf8proc_decompose_char(utf8proc_int32_t(point), decomposed, kLongest, all, &boundary);
    if (length < 0 || length > kLongest) {
      status = length < 0 ? length : utf8proc_ssize_t(UTF8PROC_ERROR_OVERFLOW);
      return;
    }
    points.insert(points.end(), decomposed, decomposed + length);
  });
  order_marks(points);
  if (status == 0 && (options & UTF8PROC_COMPOSE) != 0) {
    status = utf8proc_normalize_utf32(points.data(), utf8proc_ssize_t(points.size()), all);
    points.resize(size_t(std::max<utf8proc_ssize_t>(status, 0)));
  }
  if (status < 0) {
    ET_LOG(Error, "tokenizer: text cannot be normalized: %s", utf8proc_errmsg(status));
    return Error::EncodeFailure;
  }
  std::string result;
  result.reserve(text.size());
  for (const utf8proc_int32_t point : points) append_code_point(result, uint32_t(point));
  return result;
}

std::string lowercased(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t length = character_length(text);
    const uint32_t point = code_point(text, length);
    if (point == 0x130) {
      result += "i\xCC\x87";  // the only character with two characters as lower case
    } else {
      append_code_point(result, uint32_t(utf8proc_tolower(utf8proc_int32_t(point))));
    }
    text.remove_prefix(length);
  }
  return result;
}

bool is_chinese(uint32_t point) {
  static constexpr std::pair<uint32_t, uint32_t> kBlocks[] = {
      {0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
      {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  for (const auto& [first, last] : kBlocks) {
    if (point >= first && point <= last) return true;
  }
  return false;
}

bool is_bert_control(uint32_t point) {
  if (point == 0 || point == 0xFFFD) return true;
  if (point == '\t' || point == '\n' || point == '\r') return false;
  const auto category = utf8proc_category(utf8proc_int32_t(point));
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO || category == UTF8PROC_CATEGORY_CN;
}

bool is_nmt_control(uint32_t point) {
  return (point >= 1 && point <= 8) || point == 0xB || (point >= 0xE && point <= 0x1F) ||
         point == 0x7F || point == 0x8F || point == 0x9F;
}
bool is_nmt_space(uint32_t point) {
  return point == 9 || point == 0xA || point == 0xC || point == 0xD || point == 0x1680 ||
         (point >= 0x200B && point <= 0x200F) || point == 0x2028 || point == 0x2029 ||
         point == 0x2581 || point == 0xFEFF || point == 0xFFFD;
}

/// Appends the result of a step that handles each character separately.
void append_character(Kind kind, std::string_view character, uint32_t point, std::string& text) {
  const auto category = utf8proc_category(utf8proc_int32_t(point));
  const bool is_nonspacing = category == UTF8PROC_CATEGORY_MN;
  const bool is_mark =
      is_nonspacing || category == UTF8PROC_CATEGORY_MC || category == UTF8PROC_CATEGORY_ME;
  bool drops = false, is_space = false;
  switch (kind) {
    case Kind::DropMarks:
      drops = is_mark;
      break;
    case Kind::DropNonspacing:
      drops = is_nonspacing;
      break;
    case Kind::CleanText:
      drops = is_bert_control(point);
      is_space = is_white_space(point);
      break;
    case Kind::Nmt:
      drops = is_nmt_control(point);
      is_space = is_nmt_space(point);
      break;
    case Kind::SpaceChinese:
      if (!is_chinese(point)) break;
      text.append(" ").append(character).append(" ");
      return;
    default:
      break;
  }
  if (drops) return;
  text += is_space ? std::string_view(" ") : character;
}

std::string stripped(const std::string& text, bool at_left) {
  size_t first = text.size(), last = 0, at = 0;
  each_character(text, [&](std::string_view character, uint32_t point) {
    if (!is_white_space(point)) {
      if (first == text.size()) first = at;
      last = at + character.size();
    }
    at += character.size();
  });
  return at_left ? text.substr(first) : text.substr(0, last);
}

/// The first extended grapheme cluster.
std::string_view first_grapheme(std::string_view text) {
  utf8proc_int32_t state = 0;
  size_t end = character_length(text);
  auto before = utf8proc_int32_t(code_point(text, end));
  while (end < text.size()) {
    const std::string_view rest = text.substr(end);
    const size_t length = character_length(rest);
    const auto point = utf8proc_int32_t(code_point(rest, length));
    if (utf8proc_grapheme_break_stateful(before, point, &state)) break;
    before = point;
    end += length;
  }
  return text.substr(0, end);
}

/// Replaces text by the map. As in the package "tokenizers", the value of the shortest key that a
/// grapheme begins with replaces the whole grapheme, if that has fewer than kLongGrapheme bytes. In
/// other graphemes, characters are replaced one by one.
Result<std::string> mapped(std::string_view text, const CharMap& map, TextBudget& budget) {
  constexpr size_t kLongGrapheme = 6;
  std::string result;
  while (!text.empty()) {
    const std::string_view grapheme = first_grapheme(text);
    text.remove_prefix(grapheme.size());
    const auto whole = grapheme.size() < kLongGrapheme ? map.shortest(grapheme) : std::nullopt;
    if (whole.has_value()) {
      const Error error = budget.spend(whole->size());
      if (error != Error::Ok) return error;
      result += *whole;
      continue;
    }
    Error error = Error::Ok;
    each_character(grapheme, [&](std::string_view character, uint32_t) {
      const std::string_view to = map.shortest(character).value_or(character);
      if (error == Error::Ok) error = budget.spend(to.size());
      if (error == Error::Ok) result += to;
    });
    if (error != Error::Ok) return error;
  }
  return result;
}

Result<std::string> apply_step(const Normalizer& step, const std::string& text,
                               TextBudget& budget) {
  switch (step.kind) {
    case Kind::Replace:
      return replaced(text, step.from, step.to, budget);
    case Kind::ReplacePattern:
      return replaced_pattern(text, *step.pattern, step.to, budget);
    case Kind::Prepend:
      return text.empty() ? text : step.to + text;
    case Kind::Lowercase:
      return lowercased(text);
    case Kind::Nfc:
      return composed(text, UTF8PROC_COMPOSE);
    case Kind::Nfd:
      return composed(text, UTF8PROC_DECOMPOSE);
    case Kind::Nfkc:
      return composed(text, UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
    case Kind::Nfkd:
      return composed(text, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
    case Kind::StripLeft:
    case Kind::StripRight:
      return stripped(text, step.kind == Kind::StripLeft);
    case Kind::Map:
      return mapped(text, *step.map, budget);
    case Kind::Bytes: {
      std::string result;
      for (const char byte : text) result += character_of_byte(uint8_t(byte));
      return result;
    }
    default: {
      std::string result;
      each_character(text, [&](std::string_view character, uint32_t point) {
        append_character(step.kind, character, point, result);
      });
      return result;
    }
  }
}

}  // namespace

Result<std::string> normalize(const HfModel& model, std::string text, TextBudget& budget) {
  for (const Normalizer& step : model.normalizers) {
    auto applied = apply_step(step, text, budget);
    if (!applied.ok()) return applied;
    const Error error = budget.spend(applied->size() + 1);
    if (error != Error::Ok) return error;
    text = std::move(*applied);
    // A map in a file may contain any bytes.
    if (step.kind == Kind::Map && !is_utf8(text)) {
      ET_LOG(Error, "tokenizer: the normalizer's map produces text that is not UTF-8");
      return Error::EncodeFailure;
    }
  }
  return text;
}

}  // namespace tokenizers::internal
