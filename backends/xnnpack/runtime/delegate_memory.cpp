// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/delegate_memory.h>

#include <executorch/extension/memory_allocator/large_pages.h>

namespace executorch::backends::xnnpack {

using extension::kLargePage;
using extension::prefer_large_pages;

extension::ByteBudget& delegate_bytes() {
  static extension::ByteBudget bytes;  // trivially destructible: delegates may end after it
  return bytes;
}

bool DelegateBlock::grow(size_t size, size_t limit) {
  if (size <= bytes_.size()) {
    return true;
  }
  const size_t before = bytes_.size();
  if (!bytes_.take(size - before, limit)) {
    return false;
  }
  const bool is_large = size >= 2 * kLargePage;
  void* grown = nullptr;
  if (posix_memalign(&grown, is_large ? kLargePage : kBlockAlignment, size) != 0) {
    bytes_.resize(before);
    return false;
  }
  if (is_large) {
    prefer_large_pages(grown, size);
  }
  memory_.reset(static_cast<char*>(grown));
  return true;
}

}  // namespace executorch::backends::xnnpack
