// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Accessors that read an absent vector as empty: writers may omit empty vectors.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <string_view>

#include <executorch/runtime/core/span.h>
#include <executorch/schema/program_generated.h>

namespace executorch::runtime::internal {

template <typename T>
size_t count(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

/// The scalars of a vector; they belong to the flatbuffer.
template <typename T>
Span<const T> items(const flatbuffers::Vector<T>* vector) {
  static_assert(FLATBUFFERS_LITTLEENDIAN, "the file's scalars are used in place");
  return vector == nullptr ? Span<const T>() : Span<const T>(vector->data(), vector->size());
}

/// The text of a string; "" if it is absent.
inline const char* text(const flatbuffers::String* string) {
  return string == nullptr ? "" : string->c_str();
}
inline std::string_view text_view(const flatbuffers::String* string) {
  return string == nullptr ? std::string_view() : std::string_view(string->c_str(), string->size());
}

}  // namespace executorch::runtime::internal
