// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

namespace executorch::runtime::etensor {

/// The values are ATen's, because programs store them as integers. Kernels refuse unsupported ones.
enum class MemoryFormat : int8_t {
  Contiguous = 0,
  Preserve = 1,
  ChannelsLast = 2,
  ChannelsLast3d = 3,
  NumOptions,
};

/// The numbers are ATen's.
enum class Layout : int8_t {
  Strided = 0,
  NumOptions,
};

}  // namespace executorch::runtime::etensor

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::etensor::Layout;
using ::executorch::runtime::etensor::MemoryFormat;
}  // namespace torch::executor
