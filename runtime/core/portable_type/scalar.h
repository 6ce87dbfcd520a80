// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

#include <type_traits>

#include <executorch/runtime/core/portable_type/bfloat16.h>
#include <executorch/runtime/core/portable_type/half.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch::runtime::etensor {

/// A number of one of three kinds: int64_t, double or bool.
class Scalar final {
 public:
  constexpr Scalar() : Scalar(int64_t{0}) {}
  template <typename T,
            std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, bool> = true>
  /* implicit */ constexpr Scalar(T value) : kind_(Kind::Int), int_(static_cast<int64_t>(value)) {}
  /* implicit */ constexpr Scalar(bool value) : kind_(Kind::Bool), int_(value ? 1 : 0) {}
  /* implicit */ constexpr Scalar(double value) : kind_(Kind::Double), double_(value) {}
  /* implicit */ Scalar(Half value) : Scalar(static_cast<double>(static_cast<float>(value))) {}
  /* implicit */ Scalar(BFloat16 value) : Scalar(static_cast<double>(static_cast<float>(value))) {}

  constexpr bool isIntegral(bool include_bool) const {
    return kind_ == Kind::Int || (include_bool && kind_ == Kind::Bool);
  }
  constexpr bool isFloatingPoint() const { return kind_ == Kind::Double; }
  constexpr bool isBoolean() const { return kind_ == Kind::Bool; }

  /// The value as T, one of int64_t, double, bool. The value must be of that kind (int64_t also
  /// takes a bool), else the program aborts: check the kind first, or use as().
  template <typename T>
  T to() const;

  /// The value converted to the arithmetic type T as a C++ cast converts, but without undefined
  /// cases: a number beyond an integer's range becomes its nearest limit, NaN becomes 0.
  template <typename T>
  T as() const;

 private:
  enum class Kind : uint8_t { Int, Double, Bool };

  Kind kind_;
  union {
    int64_t int_;
    double double_;
  };
};

template <>
inline int64_t Scalar::to<int64_t>() const {
  ET_CHECK_MSG(isIntegral(/*include_bool=*/true), "Scalar is neither an int nor a bool");
  return int_;
}
template <>
inline double Scalar::to<double>() const {
  ET_CHECK_MSG(isFloatingPoint(), "Scalar is not a double");
  return double_;
}
template <>
inline bool Scalar::to<bool>() const {
  ET_CHECK_MSG(isBoolean(), "Scalar is not a bool");
  return int_ != 0;
}

template <typename T>
T Scalar::as() const {
  if constexpr (std::is_same_v<T, bool>) {
    return isFloatingPoint() ? double_ != 0 : int_ != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (!isFloatingPoint()) {
      return static_cast<T>(int_);
    }
    // The limits as doubles may round up to one past the range, hence >= and the limit itself.
    if (!(double_ > static_cast<double>(std::numeric_limits<T>::lowest()))) {
      return double_ != double_ ? T{0} : std::numeric_limits<T>::lowest();
    }
    if (double_ >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
    return static_cast<T>(double_);
  } else {
    return isFloatingPoint() ? static_cast<T>(double_) : static_cast<T>(int_);
  }
}

}  // namespace executorch::runtime::etensor

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::etensor::Scalar;
}  // namespace torch::executor
