// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Linear layers of int8 on the engine; those of rows quantized at run time also with 4-bit weights.
#include <executorch/backends/xnnpack/runtime/operators/engine/quantized_layer.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/kernels/engine/qgemm/int4_gemm.h>

namespace executorch::backends::xnnpack {

using runtime::Error;

namespace {

/// For 4-bit weights: elements along depth that share a scale.
size_t group_of(const QuantizedLayer& layer, size_t inputs) {
  return layer.filter.datatype == Datatype::QBInt4 ? layer.filter.block_size : inputs;
}

/// True if the engine multiplies these 4-bit weights, whose rows are outputs.
bool has_int4_kernel(const Node& node, const QuantizedLayer& layer) {
  const Value& filter = layer.filter;
  const bool is_int4 = filter.datatype == Datatype::QCInt4 || filter.datatype == Datatype::QBInt4;
  if (!is_int4 || !layer.is_dynamic() || layer.result.datatype != Datatype::Float32 ||
      (node.flags & kTransposeWeights) != 0 || !filter.is_constant() ||
      (layer.bias != nullptr && !layer.bias->is_constant())) {
    return false;
  }
  const auto inputs = static_cast<size_t>(filter.declared.dims[1]);
  return engine::Int4Gemm::is_available(inputs, group_of(layer, inputs));
}

/// The product of rows quantized at run time.
engine::DynamicQGemmCall dynamic_call(const Tensors& t, size_t rows, const Clamp& clamp,
                                      const PackedFloats& packed) {
  engine::DynamicQGemmCall call;
  call.rows = rows;
  call.left = static_cast<const int8_t*>(t.operands[0].data);
  call.left_stride = static_cast<size_t>(elements(*t.operands[0].shape)) / rows;
  call.parameters = row_parameters(t.operands[0]);
  call.packed = packed.data();
  call.out = static_cast<float*>(t.results[0].data);
  call.out_stride = static_cast<size_t>(elements(*t.results[0].shape)) / rows;
  call.clamp_min = clamp.min;
  call.clamp_max = clamp.max;
  return call;
}

class QuantizedLinear final : public EngineOperator {
 public:
  QuantizedLinear(const Node& node, const OperatorContext& context, const QuantizedLayer& layer)
      : EngineOperator(layer.is_dynamic() ? "Fully Connected (NC, QD8, F32, QC8W) GEMM"
                                          : "Fully Connected (NC, QS8, QC8W) GEMM",
                       context),
        is_dynamic_(layer.is_dynamic()),
        is_transposed_((node.flags & kTransposeWeights) != 0),
        clamp_(node.clamp),
        tail_(node, context) {
    inputs_ = static_cast<size_t>(layer.filter.declared.dims[is_transposed_ ? 0 : 1]);
    outputs_ = static_cast<size_t>(layer.filter.declared.dims[is_transposed_ ? 1 : 0]);
    gemm_ = engine::QGemm::plan(outputs_, inputs_);
    if (!is_dynamic_) {
      call_.to = layer.requantization(clamp_of_product(node));
    }
  }

  Error pack(const OperatorContext& context, const QuantizedLayer& layer) {
    const auto* data = static_cast<const int8_t*>(layer.filter.data);
    const engine::QRightMatrix right = is_transposed_ ? engine::QRightMatrix{data, outputs_, 1}
                                                      : engine::QRightMatrix{data, 1, inputs_};
    const std::vector<float> scales = layer.scales(outputs_);
    return packed_.create(context, gemm_.layout(), layer.filter, layer.bias, gemm_.packed_bytes(),
                          [&](float* to) {
                            gemm_.pack(right, layer.columns(scales), to);
                            return true;
                          });
  }

  Error reshape(const Tensors& t) override {
    rows_ = static_cast<size_t>(elements(*t.operands[0].shape)) / inputs_;
    tail_.reshape(t);
    set_scratch(tail_.scratch_bytes());
    return Error::Ok;
  }

  Error run() override {
    if (is_dynamic_) {
      gemm_.run_dynamic(dynamic_call(tensors(), rows_, clamp_, packed_), threads());
      return Error::Ok;
    }
    call_.rows = rows_;
    call_.left = static_cast<const int8_t*>(tensors().operands[0].data);
    call_.left_stride = inputs_;
    call_.packed = packed_.data();
    tail_.set(tensors(), &call_.out, &call_);
    call_.out_stride = outputs_;
    gemm_.run(call_, threads());
    tail_.finish(tensors());
    return Error::Ok;
  }

 private:
  bool is_dynamic_, is_transposed_;
  Clamp clamp_;
  size_t inputs_ = 0, outputs_ = 0, rows_ = 0;
  engine::QGemm gemm_;
  engine::QGemmCall call_;
  QuantizedTail tail_;
  PackedFloats packed_;
};

/// The product of rows quantized at run time and 4-bit weights.
class Int4Linear final : public EngineOperator {
 public:
  Int4Linear(const Node& node, const OperatorContext& context, const QuantizedLayer& layer)
      : EngineOperator(layer.filter.datatype == Datatype::QBInt4
                           ? "Fully Connected (NC, QD8, F32, QB4W) GEMM"
                           : "Fully Connected (NC, QD8, F32, QC4W) GEMM",
                       context),
        clamp_(node.clamp),
        inputs_(static_cast<size_t>(layer.filter.declared.dims[1])),
        outputs_(static_cast<size_t>(layer.filter.declared.dims[0])),
        gemm_(engine::Int4Gemm::plan(outputs_, inputs_, group_of(layer, inputs_),
                                     layer.filter.datatype == Datatype::QCInt4)) {}

  Error pack(const OperatorContext& context, const QuantizedLayer& layer) {
    const engine::Int4Weights weights = {static_cast<const uint8_t*>(layer.filter.data),
                                         layer.filter.block_scales, layer.filter.channel_scales};
    return packed_.create(context, gemm_.layout(), layer.filter, layer.bias, gemm_.packed_bytes(),
                          [&](float* to) {
                            gemm_.pack(weights, layer.bias_data<float>(), to);
                            return true;
                          });
  }

  Error reshape(const Tensors& t) override {
    rows_ = static_cast<size_t>(elements(*t.operands[0].shape)) / inputs_;
    set_scratch(gemm_.scratch_bytes(rows_));
    return Error::Ok;
  }

  Error run() override {
    gemm_.run(dynamic_call(tensors(), rows_, clamp_, packed_), scratch(), threads());
    return Error::Ok;
  }

 private:
  Clamp clamp_;
  size_t inputs_, outputs_, rows_ = 0;
  engine::Int4Gemm gemm_;
  PackedFloats packed_;
};

}  // namespace

OperatorResult create_quantized_linear(const Node& node, const OperatorContext& context) {
  if (has_int4_kernel(node, QuantizedLayer(node, context))) {
    return create_packed<Int4Linear>(node, context, QuantizedLayer(node, context));
  }
  return is_engine_quantized(node, context)
             ? create_packed<QuantizedLinear>(node, context, QuantizedLayer(node, context))
             : create_xnn_linear(node, context);
}

}  // namespace executorch::backends::xnnpack
