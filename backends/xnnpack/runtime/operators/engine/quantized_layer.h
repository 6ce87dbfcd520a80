// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Shared by linear layers and convolutions of int8 on the engine: operands, packed columns, and the
// addition of a residual. Operands and results are quantized, or operands are quantized at run time
// and results are float32.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/kernels/engine/qgemm/qgemm.h>

namespace executorch::backends::xnnpack {

/// The values of a linear layer's or convolution's node; the result is the product's own, before a
/// residual is added.
struct QuantizedLayer {
  const Value &operand, &filter, &result;
  const Value* bias;

  QuantizedLayer(const Node& node, const OperatorContext& context)
      : operand(context.graph.values[node.operand(0)]),
        filter(context.graph.values[node.operand(1)]),
        result(context.graph.values[node.unfused == kNoValue ? node.result() : node.unfused]),
        bias(node.operand(2) == kNoValue ? nullptr : &context.graph.values[node.operand(2)]) {}

  bool is_dynamic() const { return operand.datatype == Datatype::QDInt8; }

  /// True if the engine multiplies these weights of 8 bits.
  bool runs_on_engine() const;
  /// The factor of each output's sums.
  std::vector<float> scales(size_t outputs) const;

  template <typename T>
  const T* bias_data() const {
    return bias == nullptr ? nullptr : static_cast<const T*>(bias->data);
  }

  engine::QColumns columns(const std::vector<float>& scales) const;
  engine::Requantization requantization(const Clamp& clamp) const;
};

/// The addition of a residual to a product of int8.
class QuantizedTail final {
 public:
  QuantizedTail(const Node& node, const OperatorContext& context);

  void reshape(const Tensors& t) {
    scratch_bytes_ = bytes_of_broadcast_product(t, Datatype::QInt8);
  }
  /// This memory is before the operator's other scratch memory.
  size_t scratch_bytes() const { return scratch_bytes_; }

  template <typename Call>
  void set(const Tensors& t, int8_t** out, Call* call) const {
    *out = static_cast<int8_t*>(scratch_bytes_ == 0 ? t.results[0].data : t.scratch);
    call->residual = scratch_bytes_ == 0 ? static_cast<const int8_t*>(t.residual.data) : nullptr;
    call->sum = sum_;
  }

  /// Adds a residual that is broadcast, or that broadcasts the product. To be called after the
  /// product.
  void finish(const Tensors& t) const;

 private:
  engine::QSum sum_;
  size_t scratch_bytes_ = 0;
};

/// The clamp of a product before a residual is added.
inline const Clamp& clamp_of_product(const Node& node) {
  return node.residual == kNoValue ? node.clamp : node.unfused_clamp;
}

template <typename Made>
OperatorResult create_packed(const Node& node, const OperatorContext& context,
                             const QuantizedLayer& layer) {
  auto created = std::make_unique<Made>(node, context, layer);
  ET_CHECK_OK_OR_RETURN_ERROR(created->pack(context, layer));
  return std::unique_ptr<Operator>(std::move(created));
}

}  // namespace executorch::backends::xnnpack
