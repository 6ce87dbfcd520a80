// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Storage types for bits, without arithmetic.
#pragma once

#include <stdint.h>

namespace executorch::runtime::etensor {

#define ET_INTERNAL_STORAGE_TYPE(name, integer)         \
  struct alignas(sizeof(integer)) name {                \
    using underlying = integer;                         \
    name() = default;                                   \
    explicit constexpr name(integer val) : val_(val) {} \
    integer val_;                                       \
  }

ET_INTERNAL_STORAGE_TYPE(bits1x8, uint8_t);
ET_INTERNAL_STORAGE_TYPE(bits2x4, uint8_t);
ET_INTERNAL_STORAGE_TYPE(bits4x2, uint8_t);
ET_INTERNAL_STORAGE_TYPE(bits8, uint8_t);
ET_INTERNAL_STORAGE_TYPE(bits16, uint16_t);

#undef ET_INTERNAL_STORAGE_TYPE

}  // namespace executorch::runtime::etensor

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::etensor::bits16;
using ::executorch::runtime::etensor::bits1x8;
using ::executorch::runtime::etensor::bits2x4;
using ::executorch::runtime::etensor::bits4x2;
using ::executorch::runtime::etensor::bits8;
}  // namespace torch::executor
