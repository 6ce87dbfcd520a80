// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/operators/operator.h>

#include <executorch/backends/xnnpack/runtime/shapes.h>

namespace executorch::backends::xnnpack {

namespace {

// Parameters are pairs of 32 bits.
constexpr size_t kParameterAlignment = 16;

}  // namespace

TensorRef tensor_ref(const Graph& graph, uint32_t id) {
  if (id == kNoValue) {
    return {};
  }
  const Value& value = graph.values[id];
  return {&value, &value.declared, const_cast<void*>(value.data)};
}

bool have_same_elements(const Value& a, const Value& b) {
  switch (a.datatype) {
    case Datatype::Float32:
    case Datatype::Float16:
    case Datatype::Int32:
      return a.datatype == b.datatype;
    case Datatype::QInt8:
    case Datatype::QUInt8:
    case Datatype::QInt32:
      return a.datatype == b.datatype && a.scale == b.scale && a.zero_point == b.zero_point;
    default:
      return false;
  }
}

size_t row_count(const Value& value, const Shape& shape) {
  size_t rows = 1;
  for (size_t d = 0; d + value.row_dims < shape.rank; ++d) {
    rows *= static_cast<size_t>(shape.dims[d]);
  }
  return rows;
}

size_t row_parameter_offset(const Value& value, const Shape& shape) {
  const size_t bytes = bytes_of(value.datatype, shape) + XNN_EXTRA_BYTES;
  return (bytes + kParameterAlignment - 1) / kParameterAlignment * kParameterAlignment;
}

}  // namespace executorch::backends::xnnpack
