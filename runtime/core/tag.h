// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/defines.h>

namespace executorch::runtime {

#define EXECUTORCH_FORALL_TAGS(_) \
  _(None)                         \
  _(Tensor)                       \
  _(String)                       \
  _(Double)                       \
  _(Int)                          \
  _(Bool)                         \
  _(ListBool)                     \
  _(ListDouble)                   \
  _(ListInt)                      \
  _(ListTensor)                   \
  _(ListScalar)                   \
  _(ListOptionalTensor)

/// Kind of an EValue's payload.
enum class Tag : uint32_t {
#define ET_INTERNAL_ENUMERATOR(name) name,
  EXECUTORCH_FORALL_TAGS(ET_INTERNAL_ENUMERATOR)
#undef ET_INTERNAL_ENUMERATOR
};

#if ET_ENABLE_ENUM_STRINGS
/// The tag's name, for example "ListInt"; "Unknown" for an invalid value.
const char* tag_to_string(Tag tag);
#endif

/// Writes the tag's name (its number in a build without ET_ENABLE_ENUM_STRINGS) and a NUL into
/// `buffer`, cut to `buffer_size`. Returns the length of the uncut name.
size_t tag_to_string(Tag tag, char* buffer, size_t buffer_size);

/// Enough for any name and its NUL.
constexpr size_t kTagNameBufferSize = 19;

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::Tag;
}  // namespace torch::executor
