// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace executorch::backends::xnnpack {

/// Bytes after the end of an operand that kernels may read. They do not affect results: kernels
/// multiply them by packed weights that are 0. valgrind, to which such a product is uninitialized,
/// reports the results (executor_runner with test/data/xnnpack/quantized_images.pte).
constexpr size_t kReadBeyond = 16;

#if defined(__SANITIZE_ADDRESS__)
#define ET_ADDRESSES_ARE_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ET_ADDRESSES_ARE_CHECKED 1
#endif
#endif

/// True if kReadBeyond bytes after an operand can be read whatever lies there: they are in the page
/// of its last byte; the next page may be unmapped. AddressSanitizer reports both cases. Kernels do
/// not read operands without bytes, whose address may be null.
inline bool may_be_read_beyond(const void* data, size_t size) {
  if (size == 0) {
    return true;
  }
#ifdef ET_ADDRESSES_ARE_CHECKED
  return static_cast<void>(data), false;
#else
  constexpr uintptr_t kSmallestPage = 4096;
  const auto last = reinterpret_cast<uintptr_t>(data) + size - 1;
  return last / kSmallestPage == (last + kReadBeyond) / kSmallestPage;
#endif
}

#undef ET_ADDRESSES_ARE_CHECKED

}  // namespace executorch::backends::xnnpack
