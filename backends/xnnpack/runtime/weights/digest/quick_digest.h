// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <executorch/backends/xnnpack/runtime/weights/digest/digest.h>

namespace executorch::backends::xnnpack {

/// A digest for comparisons within this process, several times as fast as Digester. Random numbers
/// of the process are its key, so authors of programs cannot construct collisions.
Digest quick_digest_of(const void* data, size_t size);

}  // namespace executorch::backends::xnnpack
