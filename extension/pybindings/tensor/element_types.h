// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Element types that can be passed to and from Python, with their names and codes there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <executorch/extension/pybindings/tensor/dlpack_abi.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch::extension::pybindings {

struct ElementTypeInfo {
  executorch::aten::ScalarType type;
  /// The name in numpy, torch and ml_dtypes.
  const char* name;
  uint8_t size;
  dlpack::Code code;
  /// numpy's type number, or -1 if numpy lacks the type.
  int8_t numpy;

  dlpack::DataType dlpack_type() const { return {code, static_cast<uint8_t>(size * 8), 1}; }
};

// Each returns null for a type that cannot be passed.
const ElementTypeInfo* element_type(executorch::aten::ScalarType type);
const ElementTypeInfo* element_type(dlpack::DataType type);
const ElementTypeInfo* element_type_of_numpy(int type_number);
const ElementTypeInfo* element_type_named(std::string_view name);
/// `format` as in Python's struct module, of one item of `item_size` bytes in native byte order.
const ElementTypeInfo* element_type_of_buffer(const char* format, size_t item_size);

/// For messages: "float32", or the runtime's name of a type that cannot be passed ("QInt8").
const char* element_type_name(executorch::aten::ScalarType type);

}  // namespace executorch::extension::pybindings
