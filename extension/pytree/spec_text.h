// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The text form of a structure (see pytree.h): reading and writing.
#pragma once

#include <stddef.h>

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/pytree/container.h>

namespace executorch::extension::pytree {

namespace internal {

/// Reads a text from its start; every step checks that there is text left.
template <typename Aux>
class SpecReader final {
 public:
  explicit SpecReader(const StrTreeSpec& text) : text_(text) {}

  TreeSpec<Aux> read_all() {
    TreeSpec<Aux> spec = read_node(0);
    if (at_ != text_.size()) {
      fail("text after the structure");
    }
    return spec;
  }

 private:
  /// Structures nested deeper than this are refused: reading them would exhaust the stack.
  static constexpr size_t kMaxDepth = 256;

  [[noreturn]] void fail(const char* what) const {
    throw std::out_of_range("pytree: " + std::string(what) + " at character " +
                            std::to_string(at_) + " of '" + text_ + "'");
  }
  char peek() const {
    if (at_ >= text_.size()) {
      fail("the text ends too early");
    }
    return text_[at_];
  }
  void expect(char c) {
    if (peek() != c) {
      fail("an unexpected character");
    }
    ++at_;
  }
  size_t read_number() {
    if (peek() < '0' || peek() > '9') {
      fail("expected a number");
    }
    size_t number = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      number = 10 * number + static_cast<size_t>(text_[at_++] - '0');
      if (number > static_cast<size_t>(std::numeric_limits<KeyInt>::max())) {
        fail("a number is too large");
      }
    }
    return number;
  }
  Key read_key() {
    if (peek() != '\'') {
      return Key(static_cast<KeyInt>(read_number()));
    }
    const size_t end = text_.find('\'', ++at_);
    if (end == StrTreeSpec::npos) {
      fail("a key without its end");
    }
    Key key(text_.substr(at_, end - at_));
    at_ = end + 1;
    return key;
  }

  TreeSpec<Aux> read_node(size_t depth) {
    if (depth > kMaxDepth) {
      fail("too many levels");
    }
    const char letter = peek();
    ++at_;
    if (letter == '$') {
      return TreeSpec<Aux>(new TreeSpecContainer<Aux>(nullptr));
    }
    const Kind kind = letter == 'L'   ? Kind::List
                      : letter == 'T' ? Kind::Tuple
                      : letter == 'N' ? Kind::NamedTuple
                      : letter == 'D' ? Kind::Dict
                                      : Kind::None;
    if (kind == Kind::None) {
      --at_;
      fail("an unknown kind of node");
    }
    const size_t size = read_number();
    if (size > text_.size()) {
      fail("more items than the text has");
    }
    std::vector<size_t> leaves;
    while (peek() == '#') {
      ++at_;
      leaves.push_back(read_number());
    }
    if (leaves.size() != size) {
      fail("there are more or fewer items than counts of leaves");
    }
    expect('(');
    auto node = std::make_unique<TreeSpecContainer<Aux>>(kind, size);
    for (size_t i = 0; i < size; ++i) {
      if (i > 0) {
        expect(',');
      }
      if (kind == Kind::Dict) {
        node->keys[i] = read_key();
        expect(':');
      }
      node->items[i] = read_node(depth + 1);
      if (node->items[i].leaves_num() != leaves[i]) {
        fail("an item has another number of leaves than its count");
      }
      node->leaves_num += leaves[i];
    }
    expect(')');
    return TreeSpec<Aux>(std::move(node));
  }

  const StrTreeSpec& text_;
  size_t at_ = 0;
};

template <typename Aux>
void write_key(const Key& key, StrTreeSpec* text) {
  if (key.kind() == Key::Kind::Int) {
    *text += std::to_string(key.as_int());
  } else if (key.kind() == Key::Kind::Str) {
    *text += "'" + key.as_str() + "'";
  } else {
    throw std::runtime_error("pytree: an item of a dict lacks a key");
  }
}

template <typename Aux>
void write_node(const TreeSpec<Aux>& spec, StrTreeSpec* text) {
  switch (spec.kind()) {
    case Kind::List:
      *text += 'L';
      break;
    case Kind::Tuple:
      *text += 'T';
      break;
    case Kind::NamedTuple:
      *text += 'N';
      break;
    case Kind::Dict:
      *text += 'D';
      break;
    case Kind::Custom:
      *text += "C(" + spec.handle->custom_type + ")";
      break;
    case Kind::Leaf:
      *text += '$';
      return;
    case Kind::None:
      return;
  }
  *text += std::to_string(spec.size());
  for (size_t i = 0; i < spec.size(); ++i) {
    *text += "#" + std::to_string(spec[i].leaves_num());
  }
  *text += '(';
  for (size_t i = 0; i < spec.size(); ++i) {
    if (i > 0) {
      *text += ',';
    }
    if (spec.isDict()) {
      write_key<Aux>(spec.key(i), text);
      *text += ':';
    }
    write_node(spec[i], text);
  }
  *text += ')';
}

}  // namespace internal

/// Parses the text of a structure.
template <typename Aux = Empty>
TreeSpec<Aux> from_str(const StrTreeSpec& spec) {
  return internal::SpecReader<Aux>(spec).read_all();
}

/// Writes the text of a structure.
template <typename Aux>
StrTreeSpec to_str(const TreeSpec<Aux>& spec) {
  refresh_leaves_num(spec);
  StrTreeSpec text;
  internal::write_node(spec, &text);
  return text;
}

}  // namespace executorch::extension::pytree
