// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <initializer_list>
#include <vector>

#include <executorch/runtime/core/span.h>

namespace executorch::fuzz {

/// FNV-1a.
inline uint64_t hash_of(runtime::Span<const uint8_t> bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const uint8_t byte : bytes) {
    hash = (hash ^ byte) * 0x100000001b3u;
  }
  return hash;
}

/// Decisions of a fuzz target: the bytes of the input as long as there are any, so that a fuzzer
/// that changes a byte changes one decision; then splitmix64, seeded with the input's hash.
class Random final {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  explicit Random(runtime::Span<const uint8_t> bytes) : bytes_(bytes), state_(hash_of(bytes)) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// From 0 to `bound` - 1; `bound` must not be 0.
  size_t below(size_t bound) {
    if (used_ + 2 > bytes_.size()) {
      return static_cast<size_t>(next() % bound);
    }
    const size_t low = bytes_[used_];
    used_ += bound > 256 ? 2 : 1;
    return (bound > 256 ? low | static_cast<size_t>(bytes_[used_ - 1]) << 8 : low) % bound;
  }
  /// From `first` to `last`.
  int64_t between(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(below(static_cast<size_t>(last - first) + 1));
  }
  bool one_in(size_t n) { return below(n) == 0; }
  template <typename T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(from.size())];
  }
  template <typename T>
  T& pick(std::vector<T>& from) {
    return from[below(from.size())];
  }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

 private:
  runtime::Span<const uint8_t> bytes_;
  size_t used_ = 0;
  uint64_t state_;
};

}  // namespace executorch::fuzz
