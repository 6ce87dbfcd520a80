// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Linear layers with quantized weights on XNNPACK.
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/operators/xnnpack/operator.h>
#include <executorch/backends/xnnpack/runtime/operators/xnnpack/quantized_layer.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>

namespace executorch::backends::xnnpack {
namespace {

// The only flag of a payload that is passed to XNNPACK.
constexpr uint32_t kMatrixFlags = XNN_FLAG_TRANSPOSE_WEIGHTS;

struct Creation : LayerCreation {
  size_t inputs, outputs;

  Creation(const Node& of, const OperatorContext& in) : LayerCreation(of, in) {
    flags = of.flags & kMatrixFlags;
    const bool transposed = flags != 0;
    inputs = static_cast<size_t>(filter.declared.dims[transposed ? 0 : 1]);
    outputs = static_cast<size_t>(filter.declared.dims[transposed ? 1 : 0]);
  }

  bool is_dynamic() const {
    return !filter.is_constant() || (node.operand(2) != kNoValue && bias == nullptr);
  }

  template <typename Function, typename... Parts>
  xnn_status call(Function* create, Parts... parts) {
    return create(inputs, outputs, inputs, outputs, parts..., flags, nullptr,
                  weights_cache(context), &handle);
  }
  /// Calls `create` with the arguments that all functions with float results take.
  template <typename Function, typename... Parts>
  xnn_status to_float(Function* create, Parts... parts) {
    return call(create, parts..., any(filter.data), any(bias), node.clamp.min, node.clamp.max);
  }
};

struct Variant {
  Datatype operand, filter, result;
  const char* label;
  xnn_status (*create)(Creation&);
  xnn_status (*reshape)(xnn_operator_t, size_t, pthreadpool_t);
  xnn_status (*setup)(xnn_operator_t, const Tensors&);
};

template <auto setup>
xnn_status setup_as(xnn_operator_t op, const Tensors& t) {
  return setup(op, any(t.operands[0].data), any(t.results[0].data));
}
template <auto setup>
xnn_status setup_dynamic(xnn_operator_t op, const Tensors& t) {
  return setup(op, any(t.operands[0].data), any(t.results[0].data),
               xnn_row_parameters(t.operands[0]));
}

constexpr Variant kLinears[] = {
    {Datatype::Float32, Datatype::QCInt8, Datatype::Float32, "Fully Connected (NC, F32, QC8W)",
     [](Creation& c) {
       return c.to_float(xnn_create_fully_connected_nc_f32_qc8w, c.filter.channel_scales);
     },
     xnn_reshape_fully_connected_nc_f32_qc8w, setup_as<xnn_setup_fully_connected_nc_f32_qc8w>},
    {Datatype::Float32, Datatype::QCInt4, Datatype::Float32, "Fully Connected (NC, F32, QC4W)",
     [](Creation& c) {
       return c.to_float(xnn_create_fully_connected_nc_f32_qc4w,
                         static_cast<uint8_t>(c.filter.zero_point), c.filter.channel_scales);
     },
     xnn_reshape_fully_connected_nc_f32_qc4w, setup_as<xnn_setup_fully_connected_nc_f32_qc4w>},
    {Datatype::QDInt8, Datatype::QCInt8, Datatype::Float32, "Fully Connected (NC, QD8, F32, QC8W)",
     [](Creation& c) {
       return c.to_float(xnn_create_fully_connected_nc_qd8_f32_qc8w, c.filter.channel_scales);
     },
     xnn_reshape_fully_connected_nc_qd8_f32_qc8w,
     setup_dynamic<xnn_setup_fully_connected_nc_qd8_f32_qc8w>},
    {Datatype::QDInt8, Datatype::QCInt4, Datatype::Float32, "Fully Connected (NC, QD8, F32, QC4W)",
     [](Creation& c) {
       return c.to_float(xnn_create_fully_connected_nc_qd8_f32_qc4w,
                         static_cast<uint8_t>(c.filter.zero_point), c.filter.channel_scales);
     },
     xnn_reshape_fully_connected_nc_qd8_f32_qc4w,
     setup_dynamic<xnn_setup_fully_connected_nc_qd8_f32_qc4w>},
    {Datatype::QDInt8, Datatype::QBInt4, Datatype::Float32, "Fully Connected (NC, QD8, F32, QB4W)",
     [](Creation& c) {
       return c.to_float(xnn_create_fully_connected_nc_qd8_f32_qb4w, c.filter.block_size,
                         static_cast<uint8_t>(c.filter.zero_point), c.filter.block_scales);
     },
     xnn_reshape_fully_connected_nc_qd8_f32_qb4w,
     setup_dynamic<xnn_setup_fully_connected_nc_qd8_f32_qb4w>},
    {Datatype::QInt8, Datatype::QInt8, Datatype::QInt8, "Fully Connected (NC, QS8)",
     create_qs8<xnn_create_fully_connected_nc_qs8, Creation>, xnn_reshape_fully_connected_nc_qs8,
     setup_as<xnn_setup_fully_connected_nc_qs8>},
    {Datatype::QInt8, Datatype::QCInt8, Datatype::QInt8, "Fully Connected (NC, QS8, QC8W)",
     create_qc8<xnn_create_fully_connected_nc_qs8_qc8w, Creation>,
     xnn_reshape_fully_connected_nc_qs8_qc8w, setup_as<xnn_setup_fully_connected_nc_qs8_qc8w>},
    {Datatype::QUInt8, Datatype::QUInt8, Datatype::QUInt8, "Fully Connected (NC, QU8)",
     create_qu8<xnn_create_fully_connected_nc_qu8, Creation>, xnn_reshape_fully_connected_nc_qu8,
     setup_as<xnn_setup_fully_connected_nc_qu8>},
};

class XnnLinear final : public XnnOperator {
 public:
  XnnLinear(const OperatorContext& context, const Variant& variant, size_t inputs,
            xnn_operator_t handle)
      : XnnOperator(variant.label, context, handle), variant_(variant), inputs_(inputs) {}

 private:
  xnn_status reshape_xnn(const Tensors& t) override {
    const size_t rows = static_cast<size_t>(elements(*t.operands[0].shape)) / inputs_;
    return variant_.reshape(handle(), rows, threads());
  }
  xnn_status setup_xnn(const Tensors& t) override { return variant_.setup(handle(), t); }

  const Variant& variant_;
  size_t inputs_;
};

}  // namespace

OperatorResult create_xnn_linear(const Node& node, const OperatorContext& context) {
  Creation creation(node, context);
  for (const Variant& row : kLinears) {
    if (!creation.is_dynamic() && row.operand == creation.operand.datatype &&
        row.filter == creation.filter.datatype && row.result == creation.result.datatype) {
      const xnn_status status = row.create(creation);
      return wrap_xnn<XnnLinear>(node, status, creation.handle, context, row, creation.inputs);
    }
  }
  return refuse_datatypes(node, context);
}

}  // namespace executorch::backends::xnnpack
