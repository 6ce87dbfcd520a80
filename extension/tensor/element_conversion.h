// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Numbers of one element type written as another, chosen at run time.
#pragma once

#include <stddef.h>

#include <type_traits>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace executorch::extension {

/// Whether T is a type to calculate with: integers, floating point numbers (reduced ones too),
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

template <typename To, typename From>
To convert_number(From value) {
  using Wide = std::conditional_t<std::is_arithmetic_v<From>, From, float>;
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_arithmetic_v<To>) {
    return static_cast<To>(static_cast<Wide>(value));
  } else {
    return To(static_cast<float>(static_cast<Wide>(value)));
  }
}

/// Writes `count` numbers from `source` to `destination`, which holds elements of `type`. Returns
/// false, having written nothing, if `type` is no number.
template <typename From>
bool convert_elements(const From* source, size_t count, executorch::aten::ScalarType type,
                      void* destination) {
  return visit_number_type(type, [&](auto element) {
    using To = typename decltype(element)::type;
    To* out = static_cast<To*>(destination);
    for (size_t i = 0; i < count; ++i) {
      out[i] = convert_number<To>(source[i]);
    }
  });
}

}  // namespace executorch::extension
