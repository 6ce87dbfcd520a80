// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

namespace executorch::backends::xnnpack {

/// The size of a large page on most systems, to which large blocks are aligned.
inline constexpr size_t kLargePage = size_t{2} << 20;

/// Advises the system to use large pages for the part of this memory that they fit.
void prefer_large_pages(void* data, size_t size);

}  // namespace executorch::backends::xnnpack
