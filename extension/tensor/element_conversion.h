// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Numbers of one element type written as another, chosen at run time.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

namespace executorch::extension {

/// True for types to calculate with: integers, floating point numbers (reduced ones too),
/// bool.
template <typename T>
inline constexpr bool is_number_v =
    std::is_arithmetic_v<T> || std::is_same_v<T, executorch::aten::Half> ||
    std::is_same_v<T, executorch::aten::BFloat16>;

/// A C++ type as a value, to hand to a lambda.
template <typename T>
struct ElementType {
  using type = T;
};

/// Calls `function(ElementType<T>{})` with the C++ type of `type` if that is a number; returns
/// whether it was.
template <typename Function>
bool visit_number_type(executorch::aten::ScalarType type, Function&& function) {
  switch (type) {
#define ET_INTERNAL_CASE(cpp_type, name)   \
  case executorch::aten::ScalarType::name: \
    if constexpr (is_number_v<cpp_type>) { \
      function(ElementType<cpp_type>{});   \
      return true;                         \
    } else {                               \
      return false;                        \
    }
    ET_FORALL_SCALAR_TYPES(ET_INTERNAL_CASE)
#undef ET_INTERNAL_CASE
    default:
      return false;
  }
}

/// Number `index` of an array. A bool's memory may have any byte, for example in a file, but C++
/// reads only 0 and 1 as bool.
template <typename T>
T number_at(const T* numbers, size_t index) {
  if constexpr (std::is_same_v<T, bool>) {
    return reinterpret_cast<const uint8_t*>(numbers)[index] != 0;
  } else {
    return numbers[index];
  }
}

/// Returns whether constructors of tensors convert elements of `from` to `to`: where ATen converts
/// implicitly (canCast), and from floating point to unsigned integers of 16 bits and more, as in
/// ExecuTorch 1.4.
inline bool converts_to(executorch::aten::ScalarType from, executorch::aten::ScalarType to) {
  using S = executorch::aten::ScalarType;
  const bool is_wide_unsigned = to == S::UInt16 || to == S::UInt32 || to == S::UInt64;
  return runtime::canCast(from, to) || (runtime::isFloatingType(from) && is_wide_unsigned);
}

/// Truncates towards zero. A number that does not fit an int64_t (for UInt64: neither of the two)
/// is 0, because C++ leaves such a conversion undefined.
template <typename To, typename From>
To truncate_number(From value) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  const auto wide = static_cast<double>(value);
  if (wide >= -kTwoTo63 && wide < kTwoTo63) {
    return static_cast<To>(static_cast<int64_t>(wide));
  }
  if (std::is_same_v<To, uint64_t> && wide >= kTwoTo63 && wide < 2 * kTwoTo63) {
    return static_cast<To>(static_cast<uint64_t>(wide));
  }
  return To{0};
}

template <typename To, typename From>
To convert_number(From value) {
  using Wide = std::conditional_t<std::is_arithmetic_v<From>, From, float>;
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<To, bool>) {
    return static_cast<Wide>(value) != Wide{0};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<Wide>) {
    return truncate_number<To>(static_cast<Wide>(value));
  } else if constexpr (std::is_arithmetic_v<To>) {
    return static_cast<To>(static_cast<Wide>(value));
  } else {
    return To(static_cast<float>(static_cast<Wide>(value)));
  }
}

/// Writes `count` numbers from `source` to `destination`, which holds elements of `type`. Returns
/// false and writes nothing for a non-numeric `type`.
template <typename From>
bool convert_elements(const From* source, size_t count, executorch::aten::ScalarType type,
                      void* destination) {
  return visit_number_type(type, [&](auto element) {
    using To = typename decltype(element)::type;
    To* out = static_cast<To*>(destination);
    for (size_t i = 0; i < count; ++i) {
      out[i] = convert_number<To>(number_at(source, i));
    }
  });
}

}  // namespace executorch::extension
