// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The values of a verified payload: by id, as arguments, and their bytes.
#include <executorch/backends/xnnpack/runtime/payload/datatypes.h>
#include <executorch/backends/xnnpack/runtime/payload/payload.h>
#include <executorch/runtime/executor/plan/optional_vector.h>

namespace executorch::backends::xnnpack {

namespace fb = fb_xnnpack;
using runtime::internal::count;

namespace {

constexpr uint32_t kInvalidId = UINT32_MAX;

}  // namespace

const fb::TensorValue& tensor_of(const fb::XValue& value) {
  const auto* quantized = value.xvalue_union_as_QuantizedTensorValue();
  return quantized == nullptr ? *value.xvalue_union_as_TensorValue() : *quantized->tensor_value();
}

std::vector<const fb::XValue*> values_by_id(const fb::XNNGraph& graph) {
  std::vector<const fb::XValue*> values(count(graph.xvalues()));
  for (uint32_t i = 0; i < values.size(); ++i) {
    const fb::XValue* value = graph.xvalues()->Get(i);
    values[tensor_of(*value).id_out()] = value;
  }
  return values;
}

std::vector<uint32_t> argument_ids(const fb::XNNGraph& graph) {
  std::vector<uint32_t> ids(graph.num_externs());
  for (uint32_t i = 0; i < count(graph.xvalues()); ++i) {
    const fb::TensorValue& tensor = tensor_of(*graph.xvalues()->Get(i));
    if (tensor.external_id() != kInvalidId) {
      ids[tensor.external_id()] = tensor.id_out();
    }
  }
  return ids;
}

size_t tensor_bytes(const fb::TensorValue& tensor) {
  uint64_t bits = bits_of(tensor.datatype());
  for (size_t d = 0; d < count(tensor.dims()); ++d) {
    bits *= tensor.dims()->Get(static_cast<uint32_t>(d));
  }
  return static_cast<size_t>((bits + 7) / 8);
}

}  // namespace executorch::backends::xnnpack
