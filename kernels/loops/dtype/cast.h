// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// One element from one type to another, defined for every value.
#pragma once

#include <executorch/kernels/loops/dtype/types.h>

#include <limits>
#include <type_traits>

namespace executorch::kernels {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// The type to compute in: float for 16-bit floats, otherwise the type itself.
template <class T>
using Opmath = std::conditional_t<is_half<T>, float, T>;

/// The intermediate type of a conversion from floating point to an integer, as in torch: int32 for
/// types of up to 32 bits, except for uint8 and uint32.
template <class To>
using IntegerBefore = std::conditional_t<(sizeof(To) > 4) || std::is_same_v<To, uint8_t> ||
                                             std::is_same_v<To, uint32_t>,
                                         int64_t, int32_t>;

/// Converts like static_cast, but defined where C++ is not: a floating value out of range becomes
/// the smallest IntegerBefore (as x86's conversion does), which is then truncated to the integer's
/// width.
template <class To, class From>
inline To cast(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (is_half<From>) {
    return cast<To>(static_cast<float>(value));
  } else if constexpr (is_half<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint64_t>) {
    if (value >= From(9223372036854775808.0) && value < From(18446744073709551616.0)) {
      return static_cast<uint64_t>(value);
    }
    return static_cast<uint64_t>(cast<int64_t>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Before = IntegerBefore<To>;
    constexpr Before kMin = std::numeric_limits<Before>::min();
    constexpr auto kEnd = -static_cast<From>(kMin);
    const bool fits = value >= -kEnd && value < kEnd;
    return static_cast<To>(fits ? static_cast<Before>(value) : kMin);
  } else {
    return static_cast<To>(value);
  }
}

/// Element i of an array. A bool is read as a byte: a hostile file may hold other values than 0 and
/// 1 in it.
template <class T>
inline T element(const char* from, int64_t i) {
  if constexpr (std::is_same_v<T, bool>) {
    return reinterpret_cast<const uint8_t*>(from)[i] != 0;
  } else {
    return reinterpret_cast<const T*>(from)[i];
  }
}

}  // namespace executorch::kernels
