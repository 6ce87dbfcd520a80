// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Converts a Scalar of any of its three kinds. (Scalar::to<T> rejects a kind other than T's.)
#pragma once

#include <executorch/kernels/loops/dtype/cast.h>
#include <executorch/kernels/loops/memory/strided.h>

namespace executorch::kernels {

inline double as_double(const Scalar& number) {
  return number.isFloatingPoint() ? number.to<double>()
         : number.isBoolean()     ? static_cast<double>(number.to<bool>())
                                  : static_cast<double>(number.to<int64_t>());
}

/// Floating values are converted as in cast.h.
inline int64_t as_int(const Scalar& number) {
  return number.isFloatingPoint() ? cast<int64_t>(number.to<double>())
         : number.isBoolean()     ? int64_t(number.to<bool>())
                                  : number.to<int64_t>();
}

/// True if the dtype can hold the number by the rules of ATen's checked conversion (Scalar::to):
/// bool holds every number; floating point holds its finite range, infinity and NaN; an unsigned
/// integer also holds negative integers down to minus its maximum, which wrap. A complex dtype
/// follows the rules of its parts.
bool fits(const Scalar& number, ScalarType dtype);

/// The dtype in which ATen computes if a number is combined with a tensor of this dtype: float32
/// for 16-bit floats, any other dtype itself.
inline ScalarType opmath_dtype(ScalarType dtype) {
  return dtype == ScalarType::Half || dtype == ScalarType::BFloat16 ? ScalarType::Float : dtype;
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
