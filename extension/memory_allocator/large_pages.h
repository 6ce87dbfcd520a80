// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace executorch::extension {

/// The size of a large page on most systems, to which large blocks are aligned.
inline constexpr size_t kLargePage = size_t{2} << 20;

/// Advises the system to use large pages for the part of this memory that they fit.
inline void prefer_large_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t size) {
#ifdef MADV_HUGEPAGE
  const auto address = reinterpret_cast<uintptr_t>(data);
  const uintptr_t begin = (address + kLargePage - 1) / kLargePage * kLargePage;
  const uintptr_t end = (address + size) / kLargePage * kLargePage;
  if (begin < end) {
    // Only advice: if the system refuses it, the pages stay small.
    (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  }
#endif
}

}  // namespace executorch::extension
