// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <executorch/backends/xnnpack/runtime/weights/digest.h>

namespace executorch::backends::xnnpack {

/// A digest of contents that is compared within this process alone, several times as fast as
/// Digester. It is keyed by random numbers of the process: who makes a program cannot know which
/// contents have equal digests.
Digest quick_digest_of(const void* data, size_t size);

}  // namespace executorch::backends::xnnpack
