// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A digest of 128 bits by BLAKE2b (RFC 7693), which identifies contents across processes. A secret
// key prevents others from constructing contents or files with a given digest.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include <executorch/backends/xnnpack/runtime/weights/digest/digest_key.h>

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

/// A digest of contents in pieces. The sizes of the pieces affect the result. The words of the
/// pieces are distributed to eight BLAKE2b states, which one vector computes; a ninth state digests
/// their results and the number of bytes.
class Digester final {
 public:
  explicit Digester(const DigestKey& key = {});

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
  /// Ends the digester.
  Digest finish();

 private:
  static constexpr size_t kLanes = 8;
  static constexpr size_t kStripe = kLanes * 128;

  void append(const void* data, size_t size);

  uint64_t key_[4];
  uint64_t lanes_[8 * kLanes];  // word w of lane l at 8 * w + l
  uint64_t taken_ = 0;          // bytes, including those in `rest_`
  alignas(64) uint8_t rest_[kStripe];
};

Digest digest_of(const void* data, size_t size, const DigestKey& key = {});

}  // namespace executorch::backends::xnnpack
