// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/execution/large_pages.h>

#include <stdint.h>
#include <sys/mman.h>

namespace executorch::backends::xnnpack {

void prefer_large_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t size) {
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

}  // namespace executorch::backends::xnnpack
