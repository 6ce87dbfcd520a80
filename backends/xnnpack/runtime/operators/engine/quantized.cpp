// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Linear layers and convolutions of int8 on the engine: of quantized operands to quantized results,
// and of operands quantized at run time to float32. Linear layers also with 4-bit weights.
#include <vector>

#include <executorch/backends/xnnpack/runtime/graph/convolution_params.h>
#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/operators/library.h>
#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/kernels/engine/qgemm/int4_gemm.h>
#include <executorch/kernels/engine/qgemm/qconv.h>
#include <executorch/kernels/engine/qgemm/qgemm.h>

namespace executorch::backends::xnnpack {

using runtime::Error;

namespace {

namespace fb = fb_xnnpack;

/// The values of a linear layer's or convolution's node; the result is the product's own, before a
/// residual is added.
struct Layer {
  const Value &operand, &filter, &result;
  const Value* bias;

  Layer(const Node& node, const OperatorContext& context)
      : operand(context.graph.values[node.operand(0)]),
        filter(context.graph.values[node.operand(1)]),
        result(context.graph.values[node.unfused == kNoValue ? node.result() : node.unfused]),
        bias(node.operand(2) == kNoValue ? nullptr : &context.graph.values[node.operand(2)]) {}

  bool is_dynamic() const { return operand.datatype == Datatype::QDInt8; }

  bool runs_on_engine() const {
    const bool are_constant = filter.is_constant() && (bias == nullptr || bias->is_constant());
    const bool is_static = operand.datatype == Datatype::QInt8 &&
                           result.datatype == Datatype::QInt8 && filter.zero_point == 0;
    const bool to_float = is_dynamic() && result.datatype == Datatype::Float32;
    return are_constant &&
           (filter.datatype == Datatype::QCInt8 ||
            (filter.datatype == Datatype::QInt8 && is_static)) &&
           (is_static || to_float);
  }

  /// For 4-bit weights: elements along depth that share a scale.
  size_t group(size_t inputs) const {
    return filter.datatype == Datatype::QBInt4 ? filter.block_size : inputs;
  }

  /// True if the engine multiplies these 4-bit weights, whose rows are outputs.
  bool has_int4_kernel(const Node& node) const {
    const bool is_int4 = filter.datatype == Datatype::QCInt4 || filter.datatype == Datatype::QBInt4;
    if (!is_int4 || !is_dynamic() || result.datatype != Datatype::Float32 ||
        (node.flags & kTransposeWeights) != 0 || !filter.is_constant() ||
        (bias != nullptr && !bias->is_constant())) {
      return false;
    }
    const auto inputs = static_cast<size_t>(filter.declared.dims[1]);
    return engine::Int4Gemm::is_available(inputs, group(inputs));
  }

  /// The factor of each output's sums.
  std::vector<float> scales(size_t outputs) const {
    std::vector<float> scales(outputs);
    for (size_t i = 0; i < outputs; ++i) {
      const float weight =
          filter.channel_scales == nullptr ? filter.scale : filter.channel_scales[i];
      scales[i] = is_dynamic() ? weight : operand.scale * weight / result.scale;
    }
    return scales;
  }

  template <typename T>
  const T* bias_data() const {
    return bias == nullptr ? nullptr : static_cast<const T*>(bias->data);
  }

  engine::QColumns columns(const std::vector<float>& scales) const {
    engine::QColumns columns;
    columns.scales = scales.data();
    columns.is_dynamic = is_dynamic();
    if (columns.is_dynamic) {
      columns.float_bias = bias_data<float>();
    } else {
      columns.input_zero_point = operand.zero_point;
      columns.bias = bias_data<int32_t>();
    }
    return columns;
  }

  engine::Requantization requantization(const Clamp& clamp) const {
    const IntegerClamp<int8_t> limits = quantized_clamp<int8_t>(clamp, result);
    return {result.zero_point, limits.min, limits.max};
  }
};

engine::ByteQuantization quantization_of(const Value& value) {
  return {value.scale, value.zero_point};
}

/// The addition of a residual to a product of int8.
class QuantizedTail final {
 public:
  QuantizedTail(const Node& node, const OperatorContext& context) {
    if (node.residual == kNoValue) {
      return;
    }
    const std::vector<Value>& values = context.graph.values;
    const Value& result = values[node.result()];
    sum_ = engine::QSum::plan(quantization_of(values[node.unfused]),
                              quantization_of(values[node.residual]), quantization_of(result));
    const IntegerClamp<int8_t> limits = quantized_clamp<int8_t>(node.clamp, result);
    sum_.out_min = limits.min;
    sum_.out_max = limits.max;
  }

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
  void finish(const Tensors& t) const {
    if (scratch_bytes_ == 0) {
      return;
    }
    const Shape& shape = *t.results[0].shape;
    size_t strides[2][Shape::kMaxRank];
    broadcast_strides(*t.unfused.shape, shape, strides[0]);
    broadcast_strides(*t.residual.shape, shape, strides[1]);
    const auto* const product = static_cast<const int8_t*>(t.scratch);
    const auto* const residual = static_cast<const int8_t*>(t.residual.data);
    auto* const out = static_cast<int8_t*>(t.results[0].data);
    const auto total = static_cast<size_t>(elements(shape));
    for (size_t i = 0; i < total; ++i) {
      size_t at[2] = {}, rest = i;
      for (size_t d = shape.rank; d-- > 0;) {
        const size_t coordinate = rest % static_cast<size_t>(shape.dims[d]);
        rest /= static_cast<size_t>(shape.dims[d]);
        at[0] += coordinate * strides[0][d];
        at[1] += coordinate * strides[1][d];
      }
      out[i] = sum_(product[at[0]], residual[at[1]]);
    }
  }

 private:
  engine::QSum sum_;
  size_t scratch_bytes_ = 0;
};

/// The clamp of a product before a residual is added.
const Clamp& clamp_of_product(const Node& node) {
  return node.residual == kNoValue ? node.clamp : node.unfused_clamp;
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
  QuantizedLinear(const Node& node, const OperatorContext& context, const Layer& layer)
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

  Error pack(const OperatorContext& context, const Layer& layer) {
    const auto* data = static_cast<const int8_t*>(layer.filter.data);
    const engine::QRightMatrix right = is_transposed_ ? engine::QRightMatrix{data, outputs_, 1}
                                                      : engine::QRightMatrix{data, 1, inputs_};
    const std::vector<float> scales = layer.scales(outputs_);
    return packed_.create(context, gemm_.layout(), layer.filter, layer.bias, gemm_.packed_bytes(),
                          [&](float* to) { gemm_.pack(right, layer.columns(scales), to); });
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
  Int4Linear(const Node& node, const OperatorContext& context, const Layer& layer)
      : EngineOperator(layer.filter.datatype == Datatype::QBInt4
                           ? "Fully Connected (NC, QD8, F32, QB4W) GEMM"
                           : "Fully Connected (NC, QD8, F32, QC4W) GEMM",
                       context),
        clamp_(node.clamp),
        inputs_(static_cast<size_t>(layer.filter.declared.dims[1])),
        outputs_(static_cast<size_t>(layer.filter.declared.dims[0])),
        gemm_(engine::Int4Gemm::plan(outputs_, inputs_, layer.group(inputs_),
                                     layer.filter.datatype == Datatype::QCInt4)) {}

  Error pack(const OperatorContext& context, const Layer& layer) {
    const engine::Int4Weights weights = {static_cast<const uint8_t*>(layer.filter.data),
                                         layer.filter.block_scales, layer.filter.channel_scales};
    return packed_.create(context, gemm_.layout(), layer.filter, layer.bias, gemm_.packed_bytes(),
                          [&](float* to) { gemm_.pack(weights, layer.bias_data<float>(), to); });
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

class QuantizedConvolution final : public EngineOperator {
 public:
  QuantizedConvolution(const Node& node, const OperatorContext& context, const Layer& layer)
      : EngineOperator(
            layer.is_dynamic() ? "Convolution (NHWC, QD8, F32, QC8W) IGEMM" : label(node), context),
        is_dynamic_(layer.is_dynamic()),
        is_depthwise_(node.kind == NodeKind::DepthwiseConv2d),
        clamp_(node.clamp),
        params_(convolution_params(node)),
        plan_(engine::QConv2d::plan(params_)),
        zero_point_(layer.operand.zero_point),
        tail_(node, context) {
    if (!is_dynamic_) {
      to_ = layer.requantization(clamp_of_product(node));
    }
  }

  Error pack(const OperatorContext& context, const Layer& layer) {
    const engine::QConvWeights weights = weights_at(static_cast<const int8_t*>(layer.filter.data));
    const std::vector<float> scales = layer.scales(params_.groups * params_.group_outputs);
    return packed_.create(context, plan_.layout(), layer.filter, layer.bias, plan_.packed_bytes(),
                          [&](float* to) { plan_.pack(weights, layer.columns(scales), to); });
  }

  Error reshape(const Tensors& t) override {
    const Shape& x = *t.operands[0].shape;
    batch_ = static_cast<size_t>(x.dims[0]);
    size_ = {static_cast<size_t>(x.dims[1]), static_cast<size_t>(x.dims[2])};
    tail_.reshape(t);
    set_scratch(tail_.scratch_bytes() + plan_.scratch_bytes(batch_, size_, threads().count()));
    return Error::Ok;
  }

  Error run() override {
    if (is_dynamic_) {
      engine::DynamicQConv2dCall call;
      set(&call);
      call.parameters = row_parameters(tensors().operands[0]);
      call.output = result();
      call.clamp_min = clamp_.min;
      call.clamp_max = clamp_.max;
      plan_.run_dynamic(call, threads());
    } else {
      engine::QConv2dCall call;
      set(&call);
      call.input_zero_point = zero_point_;
      tail_.set(tensors(), &call.output, &call);
      call.to = to_;
      plan_.run(call, threads());
      tail_.finish(tensors());
    }
    return Error::Ok;
  }

 private:
  static const char* label(const Node& node) {
    return node.kind == NodeKind::DepthwiseConv2d ? "Convolution (NHWC, QC8) DWConv"
                                                  : "Convolution (NHWC, QC8) IGEMM";
  }

  engine::QConvWeights weights_at(const int8_t* data) const {
    const size_t inputs = params_.group_inputs, row = params_.kernel_width;
    if (is_depthwise_) {  // [height, width, outputs]
      const size_t outputs = params_.groups * params_.group_outputs;
      return {data, 1, row * outputs, outputs, 1};
    }
    return {data, params_.kernel_height * row * inputs, row * inputs, inputs, 1};
  }

  template <typename Call>
  void set(Call* call) const {
    call->batch = batch_;
    call->input_size = size_;
    call->input = static_cast<const int8_t*>(tensors().operands[0].data);
    call->input_pixel_stride = params_.groups * params_.group_inputs;
    call->packed = packed_.data();
    call->output_pixel_stride = params_.groups * params_.group_outputs;
    call->scratch = scratch() == nullptr ? nullptr : scratch() + tail_.scratch_bytes();
  }

  bool is_dynamic_, is_depthwise_;
  Clamp clamp_;
  engine::Conv2dParams params_;
  engine::QConv2d plan_;
  int32_t zero_point_;
  engine::Requantization to_;
  QuantizedTail tail_;
  PackedFloats packed_;
  size_t batch_ = 0;
  engine::ImageSize size_;
};

template <typename Made>
OperatorResult create(const Node& node, const OperatorContext& context, const Layer& layer) {
  auto created = std::make_unique<Made>(node, context, layer);
  ET_CHECK_OK_OR_RETURN_ERROR(created->pack(context, layer));
  return std::unique_ptr<Operator>(std::move(created));
}

/// True if the engine computes this depthwise convolution. XNNPACK is faster than plain C++.
bool has_depthwise_kernel(const fb::Convolution& n) {
  return n.group_input_channels() == 1 && n.group_output_channels() == 1 &&
         (engine::instruction_set() >= engine::InstructionSet::Avx2 || !has_library());
}

}  // namespace

bool is_engine_quantized(const Node& node, const OperatorContext& context) {
  if (node.kind == NodeKind::FullyConnected) {
    return Layer(node, context).runs_on_engine();
  }
  if ((node.kind != NodeKind::Conv2d && node.kind != NodeKind::DepthwiseConv2d) ||
      (node.flags & kSamePadding) != 0) {
    return false;
  }
  const auto& n = node.as<fb::Convolution>();
  const bool is_product = n.groups() == 1 || n.group_input_channels() > 1;
  return (is_product || has_depthwise_kernel(n)) && Layer(node, context).runs_on_engine();
}

bool adds_quantized(const Node& node, const OperatorContext& context) {
  return is_engine_quantized(node, context) && !Layer(node, context).is_dynamic() &&
         (node.kind == NodeKind::FullyConnected ||
          engine::QConv2d::plan(convolution_params(node)).adds());
}

OperatorResult create_quantized_linear(const Node& node, const OperatorContext& context) {
  if (Layer(node, context).has_int4_kernel(node)) {
    return create<Int4Linear>(node, context, Layer(node, context));
  }
  return is_engine_quantized(node, context)
             ? create<QuantizedLinear>(node, context, Layer(node, context))
             : create_xnn_linear(node, context);
}

OperatorResult create_quantized_convolution(const Node& node, const OperatorContext& context) {
  return is_engine_quantized(node, context)
             ? create<QuantizedConvolution>(node, context, Layer(node, context))
             : create_xnn_convolution(node, context);
}

}  // namespace executorch::backends::xnnpack
