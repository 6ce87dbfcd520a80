// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace executorch::runtime::etensor {

/// The numbers are those of the file format.
enum class DeviceType : int8_t {
  CPU = 0,
  CUDA = 1,
};
constexpr size_t kNumDeviceTypes = 2;

using DeviceIndex = int8_t;

/// Location of a tensor's memory.
struct Device final {
  using Type = DeviceType;

  /* implicit */ constexpr Device(DeviceType type, DeviceIndex index = 0)
      : type_(type), index_(index) {}

  constexpr DeviceType type() const { return type_; }
  constexpr DeviceIndex index() const { return index_; }
  constexpr bool is_cpu() const { return type_ == DeviceType::CPU; }
  constexpr bool operator==(const Device& other) const {
    return type_ == other.type_ && index_ == other.index_;
  }
  constexpr bool operator!=(const Device& other) const { return !(*this == other); }

 private:
  DeviceType type_;
  DeviceIndex index_;
};

}  // namespace executorch::runtime::etensor

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::etensor::Device;
using ::executorch::runtime::etensor::DeviceType;
}  // namespace torch::executor
