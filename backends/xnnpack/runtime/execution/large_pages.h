// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

namespace executorch::backends::xnnpack {

/// The bytes of a large page, or what comes near: what large memory should be aligned to.
inline constexpr size_t kLargePage = size_t{2} << 20;

/// Asks for large pages for what they fit of this memory.
void prefer_large_pages(void* data, size_t size);

}  // namespace executorch::backends::xnnpack
