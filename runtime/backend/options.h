// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Options of a backend: pairs of a name and a bool, an int or a text, in fixed-size memory.
#pragma once

#include <stddef.h>
#include <string.h>

#include <array>
#include <type_traits>
#include <variant>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/span.h>

namespace executorch::runtime {

/// Bytes of a name and of a text, their NUL included.
constexpr size_t kMaxOptionKeyLength = 64;
constexpr size_t kMaxOptionValueLength = 256;

using OptionValue = std::variant<bool, int, std::array<char, kMaxOptionValueLength>>;

struct BackendOption {
  char key[kMaxOptionKeyLength]{};
  OptionValue value;
};

namespace internal {

/// Copies the value of `option` into `out`, of type bool, int or const char* (which is valid as
/// long as the option); InvalidArgument if it is of another type.
template <typename T>
Error read_option(const BackendOption& option, T& out) {
  static_assert(std::is_same_v<T, bool> || std::is_same_v<T, int> || std::is_same_v<T, const char*>,
                "an option is a bool, an int or a const char*");
  if constexpr (std::is_same_v<T, const char*>) {
    const auto* text = std::get_if<std::array<char, kMaxOptionValueLength>>(&option.value);
    if (text != nullptr) {
      out = text->data();
      return Error::Ok;
    }
  } else {
    const T* value = std::get_if<T>(&option.value);
    if (value != nullptr) {
      out = *value;
      return Error::Ok;
    }
  }
  return Error::InvalidArgument;
}

/// The option of this name; nullptr if there is none.
inline const BackendOption* find_option(Span<const BackendOption> options, const char* key) {
  for (const BackendOption& option : options) {
    if (strncmp(option.key, key, kMaxOptionKeyLength) == 0) {
      return &option;
    }
  }
  return nullptr;
}

}  // namespace internal

/// At most kCapacity options.
template <size_t kCapacity>
class BackendOptions {
 public:
  /// The options; valid as long as this object.
  Span<BackendOption> view() { return {options_, size_}; }
  Span<const BackendOption> view() const { return {options_, size_}; }

  /// Adds an option or changes its value. InvalidArgument if the list is full or a text is too
  /// long.
  template <size_t N>
  Error set_option(const char (&key)[N], bool value) {
    return set(key, value);
  }
  template <size_t N>
  Error set_option(const char (&key)[N], int value) {
    return set(key, value);
  }
  template <size_t N>
  Error set_option(const char (&key)[N], const char* value) {
    const size_t length = strlen(value);
    ET_CHECK_OR_RETURN_ERROR(length < kMaxOptionValueLength, InvalidArgument,
                             "option %s: the text has %zu characters, at most %zu fit", key, length,
                             kMaxOptionValueLength - 1);
    std::array<char, kMaxOptionValueLength> text{};
    memcpy(text.data(), value, length);
    return set(key, text);
  }

  /// Reads an option into `out`, of type bool, int or const char*. NotFound if there is none of
  /// this name, InvalidArgument if it is of another type.
  template <typename T, size_t N>
  Error get_option(const char (&key)[N], T& out) const {
    const BackendOption* option = runtime::internal::find_option(view(), key);
    return option == nullptr ? Error::NotFound : runtime::internal::read_option(*option, out);
  }

 private:
  template <size_t N>
  Error set(const char (&key)[N], OptionValue value) {
    static_assert(N <= kMaxOptionKeyLength, "the option's name is too long");
    for (size_t i = 0; i < size_; ++i) {
      if (strcmp(options_[i].key, key) == 0) {
        options_[i].value = value;
        return Error::Ok;
      }
    }
    ET_CHECK_OR_RETURN_ERROR(size_ < kCapacity, InvalidArgument, "option %s: there are %zu already",
                             key, size_);
    memcpy(options_[size_].key, key, N);
    options_[size_].value = value;
    ++size_;
    return Error::Ok;
  }

  BackendOption options_[kCapacity]{};
  size_t size_ = 0;
};

}  // namespace executorch::runtime
