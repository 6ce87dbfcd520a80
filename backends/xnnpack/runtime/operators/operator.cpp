// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/operators/operator.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <executorch/backends/xnnpack/runtime/payload/shapes.h>

namespace executorch::backends::xnnpack {

namespace {

// At least the alignment of RowQuantization.
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
    case Datatype::BFloat16:
    case Datatype::Int32:
    case Datatype::Bool:
      return a.datatype == b.datatype;
    case Datatype::QInt8:
    case Datatype::QUInt8:
    case Datatype::QInt32:
      return a.datatype == b.datatype && a.scale == b.scale && a.zero_point == b.zero_point;
    default:
      return false;
  }
}

template <typename T>
IntegerClamp<T> quantized_clamp(const Clamp& clamp, const Value& result) {
  const auto quantize = [&](float limit) {
    const double scaled = std::nearbyint(double{limit} / double{result.scale}) + result.zero_point;
    constexpr double kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
    // In this order, NaN becomes the minimum.
    return static_cast<T>(std::min(std::max(kMin, scaled), kMax));
  };
  return {quantize(clamp.min), quantize(clamp.max)};
}
template IntegerClamp<int8_t> quantized_clamp<int8_t>(const Clamp&, const Value&);
template IntegerClamp<uint8_t> quantized_clamp<uint8_t>(const Clamp&, const Value&);

RowQuantization* row_parameters(const TensorRef& tensor) {
  return reinterpret_cast<RowQuantization*>(static_cast<char*>(tensor.data) +
                                            row_parameter_offset(*tensor.value, *tensor.shape));
}

size_t row_count(const Value& value, const Shape& shape) {
  size_t rows = 1;
  for (size_t d = 0; d + value.row_dims < shape.rank; ++d) {
    rows *= static_cast<size_t>(shape.dims[d]);
  }
  return rows;
}

size_t row_parameter_offset(const Value& value, const Shape& shape) {
  const size_t bytes = bytes_of(value.datatype, shape) + kReadBeyond;
  return (bytes + kParameterAlignment - 1) / kParameterAlignment * kParameterAlignment;
}

}  // namespace executorch::backends::xnnpack
