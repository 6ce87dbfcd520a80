// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The part of DLPack 1.x's binary interface that is used here. Array libraries exchange tensors by
// it. Layouts and numbers follow https://dmlc.github.io/dlpack/latest/c_api.html.
#pragma once

#include <cstdint>

namespace executorch::extension::pybindings::dlpack {

constexpr int32_t kDeviceCpu = 1;

/// Values of DataType::code.
enum Code : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E4M3Fn = 10,
  kFloat8E4M3Fnuz = 11,
  kFloat8E5M2 = 12,
  kFloat8E5M2Fnuz = 13,
};

struct Version {
  uint32_t major;
  uint32_t minor;
};

constexpr Version kVersion = {1, 1};

struct Device {
  int32_t type;
  int32_t id;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

/// A strided view; strides count elements and may be null in old producers (then row-major).
struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};

/// The struct before version 1, in capsules named "dltensor".
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor* self);
};

constexpr uint64_t kReadOnly = 1;

/// The struct in capsules named "dltensor_versioned". Any thread may call the deleter.
struct ManagedTensorVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedTensorVersioned* self);
  uint64_t flags;
  Tensor tensor;
};

/// The table of C functions that a tensor type offers as the capsule "dlpack_exchange_api" in its
/// attribute __dlpack_c_exchange_api__. It lives as long as the process. Functions return 0, or -1
/// with a Python exception set.
struct ExchangeApi {
  Version version;
  ExchangeApi* previous;
  int (*allocate)(Tensor* prototype, ManagedTensorVersioned** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*to_managed)(void* object, ManagedTensorVersioned** out);
  /// Steals the managed tensor.
  int (*from_managed)(ManagedTensorVersioned* tensor, void** out_object);
  /// Fills in a view that borrows from the object; may be null.
  int (*borrow)(void* object, Tensor* out);
  int (*current_work_stream)(int32_t device_type, int32_t device_id, void** out_stream);
};

}  // namespace executorch::extension::pybindings::dlpack
