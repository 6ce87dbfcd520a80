// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/tag.h>
#include <stdio.h>

namespace executorch::runtime {

#if ET_ENABLE_ENUM_STRINGS
const char* tag_to_string(Tag tag) {
  static constexpr const char* kNames[] = {
#define ET_INTERNAL_NAME(name) #name,
      EXECUTORCH_FORALL_TAGS(ET_INTERNAL_NAME)
#undef ET_INTERNAL_NAME
  };
  const size_t index = static_cast<size_t>(tag);
  return index < sizeof(kNames) / sizeof(kNames[0]) ? kNames[index] : "Unknown";
}

size_t tag_to_string(Tag tag, char* buffer, size_t buffer_size) {
  return static_cast<size_t>(snprintf(buffer, buffer_size, "%s", tag_to_string(tag)));
}
#else
size_t tag_to_string(Tag tag, char* buffer, size_t buffer_size) {
  return static_cast<size_t>(snprintf(buffer, buffer_size, "Tag::%u", static_cast<unsigned>(tag)));
}
#endif

}  // namespace executorch::runtime
