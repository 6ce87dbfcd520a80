// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A Scalar's value, whichever of its three kinds it is. (Scalar::to<T> refuses another kind than
// T's.)
#pragma once

#include <executorch/kernels/loops/cast.h>
#include <executorch/kernels/loops/strided.h>

namespace executorch::kernels {

inline double as_double(const Scalar& number) {
  return number.isFloatingPoint() ? number.to<double>()
         : number.isBoolean()     ? static_cast<double>(number.to<bool>())
                                  : static_cast<double>(number.to<int64_t>());
}

/// Floating values as cast.h cuts them.
inline int64_t as_int(const Scalar& number) {
  return number.isFloatingPoint() ? cast<int64_t>(number.to<double>())
         : number.isBoolean()     ? int64_t(number.to<bool>())
                                  : number.to<int64_t>();
}

/// A number as one element in memory, of dtype Bool, Long or Double.
struct Number {
  Number() = default;
  explicit Number(const Scalar& scalar);
  ScalarType dtype() const { return dtype_; }
  /// Zero-dim memory that points into this object, which must outlive it and stay where it is.
  Strided strided() const;

 private:
  ScalarType dtype_ = ScalarType::Undefined;
  alignas(8) char storage_[8];
};

}  // namespace executorch::kernels
