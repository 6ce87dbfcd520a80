// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Elements of any dtype as unsigned integers of the same order, so that sorting and searching are
// compiled once. Equal elements (-0.0 and 0.0) have the same key; all NaN have the greatest key.
#pragma once

#include <executorch/kernels/loops/dtype/convert.h>

#include <cstring>

namespace executorch::kernels {

/// The key of NaN if the dtype is floating point. (The largest integer has the same key.)
inline constexpr uint64_t kNanKey = ~uint64_t{0};

class KeyReader {
 public:
  /// The dtype must not be Kind::Unsupported.
  explicit KeyReader(ScalarType dtype)
      : floating_(is_floating(dtype)),
        unsigned_(dtype == ScalarType::UInt64),
        load_(load(dtype, floating_ ? Compute::Double : Compute::Int64)) {}

  /// The keys of n ≤ kBlock elements, `stride` bytes apart.
  void read(const char* from, int64_t stride, int64_t n, uint64_t* keys) const {
    constexpr int64_t kWidth = sizeof(uint64_t);
    alignas(kWidth) char block[kBlock * kWidth];
    load_(block, kWidth, from, stride, n);
    std::memcpy(keys, block, static_cast<size_t>(n * kWidth));
    if (unsigned_) return;
    if (floating_) {
      for (int64_t i = 0; i < n; ++i) keys[i] = of_double(keys[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) keys[i] ^= kSign;
    }
  }

 private:
  static constexpr uint64_t kSign = uint64_t{1} << 63;

  // Selects instead of branches, because signs are unpredictable.
  static uint64_t of_double(uint64_t bits) {
    constexpr uint64_t kInfinity = uint64_t{0x7FF} << 52;
    const uint64_t magnitude = bits & ~kSign, negative = 0 - (bits >> 63);
    const uint64_t key = magnitude == 0 ? kSign : bits ^ (negative | kSign);
    return magnitude > kInfinity ? kNanKey : key;
  }

  bool floating_, unsigned_;
  Convert load_;
};

}  // namespace executorch::kernels
