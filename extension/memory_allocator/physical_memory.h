// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The machine's memory, on which default limits depend.
#pragma once

#include <stddef.h>
#include <unistd.h>

#include <executorch/runtime/core/overflow.h>

namespace executorch::extension {

/// Three quarters of the machine's memory; 0 if that is unknown.
inline size_t three_quarters_of_memory() {
  static const size_t bytes = [] {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page_size = sysconf(_SC_PAGESIZE);
    size_t quarter = 0;
    return pages > 0 && page_size > 0 &&
                   !runtime::mul_overflows(static_cast<size_t>(pages) / 4,
                                           static_cast<size_t>(page_size), &quarter)
               ? 3 * quarter
               : 0;
  }();
  return bytes;
}

}  // namespace executorch::extension
