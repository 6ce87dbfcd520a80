// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Storage types of quantized tensors, without arithmetic: kernels read val_.
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

ET_INTERNAL_STORAGE_TYPE(qint8, int8_t);
ET_INTERNAL_STORAGE_TYPE(quint8, uint8_t);
ET_INTERNAL_STORAGE_TYPE(qint32, int32_t);
/// Two elements of 4 bits.
ET_INTERNAL_STORAGE_TYPE(quint4x2, uint8_t);
/// Four elements of 2 bits.
ET_INTERNAL_STORAGE_TYPE(quint2x4, uint8_t);

#undef ET_INTERNAL_STORAGE_TYPE

}  // namespace executorch::runtime::etensor

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::etensor::qint32;
using ::executorch::runtime::etensor::qint8;
using ::executorch::runtime::etensor::quint2x4;
using ::executorch::runtime::etensor::quint4x2;
using ::executorch::runtime::etensor::quint8;
}  // namespace torch::executor
