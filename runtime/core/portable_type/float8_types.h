// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// 8-bit floating point types: storage only, without arithmetic.
#pragma once

#include <stdint.h>

namespace executorch::runtime::etensor {

#define ET_INTERNAL_STORAGE_TYPE(name)               \
  struct alignas(1) name {                           \
    using underlying = uint8_t;                      \
    name() = default;                                \
    explicit constexpr name(uint8_t val) : x(val) {} \
    uint8_t x;                                       \
  }

ET_INTERNAL_STORAGE_TYPE(Float8_e5m2);
ET_INTERNAL_STORAGE_TYPE(Float8_e4m3fn);
ET_INTERNAL_STORAGE_TYPE(Float8_e5m2fnuz);
ET_INTERNAL_STORAGE_TYPE(Float8_e4m3fnuz);

#undef ET_INTERNAL_STORAGE_TYPE

}  // namespace executorch::runtime::etensor
