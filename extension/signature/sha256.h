// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// SHA-256, FIPS 180-4.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <array>
#include <string>

namespace executorch::extension::signature {

using Sha256 = std::array<uint8_t, 32>;

/// Computes a digest of bytes that are added in parts of any size.
class Sha256Hasher final {
 public:
  void add(const void* data, size_t size);
  /// The digest of all; nothing may be added afterwards.
  Sha256 finish();

 private:
  void add_block(const uint8_t* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint64_t length_ = 0;
  std::array<uint8_t, 64> partial_ = {};
};

/// 64 hexadecimal digits.
std::string to_hex(const Sha256& digest);

}  // namespace executorch::extension::signature
