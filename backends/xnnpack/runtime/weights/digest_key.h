// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Secrets that make digests unpredictable.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <array>

namespace executorch::backends::xnnpack {

using DigestKey = std::array<uint8_t, 32>;

/// Writes `size` random bytes of the system's to `data`.
void fill_with_random(void* data, size_t size);

/// The key of this user's files of packed weights: 32 random bytes in
/// $XDG_CACHE_HOME/executorch/packed-weights.key (else below $HOME/.cache), which is made with the
/// first such file and readable by the user alone. Where there is no such folder, or the file
/// belongs to somebody else or others may read it, the key is random: files that other processes
/// wrote are then not used, after an Info message that says why.
const DigestKey& key_of_user();

}  // namespace executorch::backends::xnnpack
