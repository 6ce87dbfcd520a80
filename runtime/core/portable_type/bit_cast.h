// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <string.h>

#include <type_traits>

namespace executorch::runtime::internal {

/// The bits of `from`, read as a To.
template <typename To, typename From>
To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  static_assert(std::is_trivially_copyable_v<To> && std::is_trivially_copyable_v<From>);
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

}  // namespace executorch::runtime::internal
