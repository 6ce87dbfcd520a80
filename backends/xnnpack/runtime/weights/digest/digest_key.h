// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Secrets that make digests unpredictable.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <array>

namespace executorch::backends::xnnpack {

using DigestKey = std::array<uint8_t, 32>;

/// Writes `size` random bytes of the system to `data`.
void fill_with_random(void* data, size_t size);

/// The key of this user's files of packed weights: 32 random bytes in
/// $XDG_CACHE_HOME/executorch/packed-weights.key (else below $HOME/.cache). The key is created with
/// the first such file, and only the user may read it. If the folder is missing, or the key belongs
/// to another user, or others may read it, the key is random: an Info message says why, and files
/// of other processes are not used.
const DigestKey& key_of_user();

}  // namespace executorch::backends::xnnpack
