// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/span.h>

#include <sanitizer/asan_interface.h>  // its macros do nothing without the sanitizer

namespace executorch::fuzz {

/// A heap block with a copy of the bytes, which must outlive it. When it is released, it ends the
/// process if the copy differs.
inline runtime::FreeableBuffer checked_copy(runtime::Span<const uint8_t> bytes) {
  const auto release = [](void* origin, void* data, size_t size) {
    ASAN_UNPOISON_MEMORY_REGION(data, size);
    if (size > 0 && memcmp(origin, data, size) != 0) {
      fprintf(stderr, "SUMMARY: a constant, or the program, was written to\n");
      abort();
    }
    delete[] static_cast<uint8_t*>(data);
  };
  auto* const copy = new uint8_t[bytes.size()];
  if (!bytes.empty()) {
    memcpy(copy, bytes.data(), bytes.size());
  }
  return runtime::FreeableBuffer(copy, bytes.size(), +release, const_cast<uint8_t*>(bytes.data()));
}

}  // namespace executorch::fuzz
