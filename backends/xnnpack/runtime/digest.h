// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A fast digest of 128 bits, to tell contents apart. Not against somebody who wants two contents to
// look alike.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

namespace executorch::backends::xnnpack {

struct Digest {
  uint64_t low = 0;
  uint64_t high = 0;

  bool operator==(const Digest& other) const { return low == other.low && high == other.high; }
  bool operator!=(const Digest& other) const { return !(*this == other); }
  bool operator<(const Digest& other) const {
    return high != other.high ? high < other.high : low < other.low;
  }
};

/// Takes a content in pieces, whose sizes are part of it.
class Digester final {
 public:
  void add(const void* data, size_t size);
  template <typename T>
  void add_value(T value) {
    static_assert(std::has_unique_object_representations_v<T>, "padding has no content");
    add(&value, sizeof(value));
  }
  void add_float(float value) { add(&value, sizeof(value)); }
  void add_digest(const Digest& digest) {
    add_value(digest.low);
    add_value(digest.high);
  }
  Digest finish() const;

 private:
  uint64_t lanes_[4] = {0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0,
                        0x082EFA98EC4E6C89};
};

Digest digest_of(const void* data, size_t size);

}  // namespace executorch::backends::xnnpack
