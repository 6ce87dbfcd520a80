// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolutions and transposed convolutions on XNNPACK.
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/operators/xnnpack/operator.h>
#include <executorch/backends/xnnpack/runtime/operators/xnnpack/quantized_layer.h>

namespace executorch::backends::xnnpack {
namespace {

namespace fb = fb_xnnpack;

constexpr uint32_t kWindowFlags = XNN_FLAG_TENSORFLOW_SAME_PADDING;

struct Groups {
  uint32_t count;
  size_t inputs, outputs;
};

/// Arguments of the creation functions of all convolutions.
struct Creation : LayerCreation {
  Groups groups;

  Creation(const Node& of, const OperatorContext& in) : LayerCreation(of, in) {
    const auto& n = of.as<fb::Convolution>();
    groups = {n.groups(), n.group_input_channels(), n.group_output_channels()};
    flags = n.flags() & kWindowFlags;
    if (of.kind == NodeKind::ConvTranspose2d) {
      flags = 0;
    } else if (of.kind == NodeKind::DepthwiseConv2d) {
      groups.outputs /= groups.inputs;
      groups.inputs = 1;
      flags |= XNN_FLAG_DEPTHWISE_CONVOLUTION;
    }
  }

  /// Calls one of XNNPACK's functions; `parts` are the arguments that differ between datatypes.
  template <typename Function, typename... Parts>
  xnn_status call(Function* create, Parts... parts) {
    const Window2d& w = node.window;
    return create(w.top, w.right, w.bottom, w.left, w.height, w.width, w.stride_height,
                  w.stride_width, w.dilation_height, w.dilation_width, groups.count, groups.inputs,
                  groups.outputs, groups.count * groups.inputs, groups.count * groups.outputs,
                  parts..., flags, nullptr, cache(), &handle);
  }
  xnn_weights_cache_t cache() const { return weights_cache(context); }
};

/// The functions of a datatype that create, reshape and set up its operator.
struct Variant {
  Datatype operand, filter, result;
  const char* label;
  xnn_status (*create)(Creation&);
  xnn_status (*reshape)(xnn_operator_t, const Shape&, size_t*, size_t*, size_t*, pthreadpool_t);
  xnn_status (*setup)(xnn_operator_t, const Tensors&);
};

template <auto reshape>
xnn_status reshape_as(xnn_operator_t op, const Shape& x, size_t* scratch, size_t* alignment,
                      size_t* size, pthreadpool_t threads) {
  return reshape(op, x.dims[0], x.dims[1], x.dims[2], scratch, alignment, &size[0], &size[1],
                 threads);
}

template <auto setup>
xnn_status setup_as(xnn_operator_t op, const Tensors& t) {
  return setup(op, t.scratch, any(t.operands[0].data), any(t.results[0].data));
}

constexpr Variant kConvolutions[] = {
    {Datatype::Float32, Datatype::Float32, Datatype::Float32, "Convolution (NHWC, F32)",
     [](Creation& c) {
       return c.call(xnn_create_convolution2d_nhwc_f32, any(c.filter.data), any(c.bias),
                     c.node.clamp.min, c.node.clamp.max);
     },
     reshape_as<xnn_reshape_convolution2d_nhwc_f32>, setup_as<xnn_setup_convolution2d_nhwc_f32>},
    {Datatype::QDInt8, Datatype::QCInt8, Datatype::Float32, "Convolution (NHWC, QD8, F32, QC8W)",
     [](Creation& c) {
       return c.call(xnn_create_convolution2d_nhwc_qd8_f32_qc8w, c.filter.channel_scales,
                     any(c.filter.data), any(c.bias), c.node.clamp.min, c.node.clamp.max);
     },
     reshape_as<xnn_reshape_convolution2d_nhwc_qd8_f32_qc8w>, nullptr},
    {Datatype::QInt8, Datatype::QInt8, Datatype::QInt8, "Convolution (NHWC, QS8)",
     create_qs8<xnn_create_convolution2d_nhwc_qs8, Creation>,
     reshape_as<xnn_reshape_convolution2d_nhwc_qs8>, setup_as<xnn_setup_convolution2d_nhwc_qs8>},
    {Datatype::QInt8, Datatype::QCInt8, Datatype::QInt8, "Convolution (NHWC, QC8)",
     create_qc8<xnn_create_convolution2d_nhwc_qs8_qc8w, Creation>,
     reshape_as<xnn_reshape_convolution2d_nhwc_qs8_qc8w>,
     setup_as<xnn_setup_convolution2d_nhwc_qs8_qc8w>},
    {Datatype::QUInt8, Datatype::QUInt8, Datatype::QUInt8, "Convolution (NHWC, QU8)",
     create_qu8<xnn_create_convolution2d_nhwc_qu8, Creation>,
     reshape_as<xnn_reshape_convolution2d_nhwc_qu8>, setup_as<xnn_setup_convolution2d_nhwc_qu8>},
};

/// The adjustments of transposed convolutions are arguments of reshaping.
struct Adjustment {
  uint32_t height, width;
};

struct TransposedVariant {
  Datatype operand, filter, result;
  const char* label;
  xnn_status (*create)(Creation&);
  xnn_status (*reshape)(xnn_operator_t, const Shape&, Adjustment, pthreadpool_t);
  xnn_status (*setup)(xnn_operator_t, const Tensors&);
};

template <auto reshape>
xnn_status reshape_transposed(xnn_operator_t op, const Shape& x, Adjustment more,
                              pthreadpool_t threads) {
  size_t size[2];
  return reshape(op, x.dims[0], x.dims[1], x.dims[2], more.height, more.width, &size[0], &size[1],
                 threads);
}
template <auto setup>
xnn_status setup_transposed(xnn_operator_t op, const Tensors& t) {
  return setup(op, any(t.operands[0].data), any(t.results[0].data));
}
constexpr TransposedVariant kDeconvolutions[] = {
    {Datatype::QDInt8, Datatype::QCInt8, Datatype::Float32, "Deconvolution (NHWC, QD8, F32, QC8W)",
     [](Creation& c) {
       return c.call(xnn_create_deconvolution2d_nhwc_qd8_f32_qc8w, c.filter.channel_scales,
                     any(c.filter.data), any(c.bias), c.node.clamp.min, c.node.clamp.max);
     },
     reshape_transposed<xnn_reshape_deconvolution2d_nhwc_qd8_f32_qc8w>, nullptr},
    {Datatype::QInt8, Datatype::QInt8, Datatype::QInt8, "Deconvolution (NHWC, QS8)",
     create_qs8<xnn_create_deconvolution2d_nhwc_qs8, Creation>,
     reshape_transposed<xnn_reshape_deconvolution2d_nhwc_qs8>,
     setup_transposed<xnn_setup_deconvolution2d_nhwc_qs8>},
    {Datatype::QInt8, Datatype::QCInt8, Datatype::QInt8, "Deconvolution (NHWC, QS8, QC8W)",
     create_qc8<xnn_create_deconvolution2d_nhwc_qs8_qc8w, Creation>,
     reshape_transposed<xnn_reshape_deconvolution2d_nhwc_qs8_qc8w>,
     setup_transposed<xnn_setup_deconvolution2d_nhwc_qs8_qc8w>},
    {Datatype::QUInt8, Datatype::QUInt8, Datatype::QUInt8, "Deconvolution (NHWC, QU8)",
     create_qu8<xnn_create_deconvolution2d_nhwc_qu8, Creation>,
     reshape_transposed<xnn_reshape_deconvolution2d_nhwc_qu8>,
     setup_transposed<xnn_setup_deconvolution2d_nhwc_qu8>},
};

class XnnConvolution : public XnnOperator {
 public:
  XnnConvolution(const OperatorContext& context, const Variant& variant, xnn_operator_t handle)
      : XnnOperator(variant.label, context, handle), variant_(variant) {}

 protected:
  xnn_status reshape_for(const Shape& images) {
    size_t size[2];
    return variant_.reshape(handle(), images, scratch_size(), scratch_alignment(), size, threads());
  }
  xnn_status reshape_xnn(const Tensors& t) override { return reshape_for(*t.operands[0].shape); }
  xnn_status setup_xnn(const Tensors& t) override { return variant_.setup(handle(), t); }

 private:
  const Variant& variant_;
};

class XnnDeconvolution : public XnnOperator {
 public:
  XnnDeconvolution(const OperatorContext& context, const TransposedVariant& variant,
                   Adjustment adjustment, xnn_operator_t handle)
      : XnnOperator(variant.label, context, handle), variant_(variant), adjustment_(adjustment) {}

 protected:
  xnn_status reshape_for(const Shape& images) {
    return variant_.reshape(handle(), images, adjustment_, threads());
  }
  xnn_status reshape_xnn(const Tensors& t) override { return reshape_for(*t.operands[0].shape); }
  xnn_status setup_xnn(const Tensors& t) override { return variant_.setup(handle(), t); }

 private:
  const TransposedVariant& variant_;
  Adjustment adjustment_;
};

/// One image of a batch that was quantized at run time, and its float32 result.
struct QuantizedImage {
  const void* data;
  const xnn_quantization_params* parameters;
  void* result;
};

QuantizedImage image_at(const Tensors& t, size_t index) {
  const Shape &in = *t.operands[0].shape, &out = *t.results[0].shape;
  const size_t in_bytes = bytes_of(Datatype::QDInt8, in) / static_cast<size_t>(in.dims[0]);
  const size_t out_bytes = bytes_of(Datatype::Float32, out) / static_cast<size_t>(out.dims[0]);
  return {static_cast<const char*>(t.operands[0].data) + index * in_bytes,
          xnn_row_parameters(t.operands[0]) + index,
          static_cast<char*>(t.results[0].data) + index * out_bytes};
}

xnn_status setup_image(xnn_operator_t op, const Tensors& t, const QuantizedImage& image) {
  return xnn_setup_convolution2d_nhwc_qd8_f32_qc8w(op, t.scratch, any(image.data),
                                                   any(image.result), image.parameters);
}

xnn_status setup_transposed_image(xnn_operator_t op, const Tensors&, const QuantizedImage& image) {
  return xnn_setup_deconvolution2d_nhwc_qd8_f32_qc8w(op, any(image.data), any(image.result),
                                                     image.parameters);
}

/// Runs image by image: for dynamically quantized images, XNNPACK allocates padding only for the
/// number of images of the first reshape.
template <typename Base, auto setup_one>
class ImageByImage final : public Base {
 public:
  using Base::Base;

  runtime::Error run() override {
    for (size_t i = 0; i < tensors_.operands[0].shape->dims[0]; ++i) {
      const xnn_status status = setup_one(this->handle(), tensors_, image_at(tensors_, i));
      ET_CHECK_OK_OR_RETURN_ERROR(status_error(status));
      ET_CHECK_OK_OR_RETURN_ERROR(Base::run());
    }
    return runtime::Error::Ok;
  }

 private:
  xnn_status reshape_xnn(const Tensors& t) override {
    Shape image = *t.operands[0].shape;
    image.dims[0] = 1;
    return this->reshape_for(image);
  }
  xnn_status setup_xnn(const Tensors& t) override {
    tensors_ = t;
    return xnn_status_success;
  }

  Tensors tensors_;
};

using XnnDynamicConvolution = ImageByImage<XnnConvolution, setup_image>;
using XnnDynamicDeconvolution = ImageByImage<XnnDeconvolution, setup_transposed_image>;

template <typename Row>
bool takes(const Row& row, const Creation& c) {
  return row.operand == c.operand.datatype && row.filter == c.filter.datatype &&
         row.result == c.result.datatype;
}

/// Weights are packed at creation: they must be constants.
bool has_constant_weights(const Creation& c) {
  return c.filter.is_constant() && (c.node.operand(2) == kNoValue || c.bias != nullptr);
}

}  // namespace

OperatorResult create_xnn_convolution(const Node& node, const OperatorContext& context) {
  Creation creation(node, context);
  for (const Variant& row : kConvolutions) {
    if (takes(row, creation) && has_constant_weights(creation)) {
      const xnn_status status = row.create(creation);
      return row.operand == Datatype::QDInt8
                 ? wrap_xnn<XnnDynamicConvolution>(node, status, creation.handle, context, row)
                 : wrap_xnn<XnnConvolution>(node, status, creation.handle, context, row);
    }
  }
  return refuse_datatypes(node, context);
}

OperatorResult create_xnn_deconvolution(const Node& node, const OperatorContext& context) {
  Creation creation(node, context);
  const auto& n = node.as<fb::Convolution>();
  for (const TransposedVariant& row : kDeconvolutions) {
    if (takes(row, creation) && has_constant_weights(creation)) {
      const xnn_status status = row.create(creation);
      const Adjustment adjustment{n.adjustment_height(), n.adjustment_width()};
      return row.operand == Datatype::QDInt8
                 ? wrap_xnn<XnnDynamicDeconvolution>(node, status, creation.handle, context, row,
                                                     adjustment)
                 : wrap_xnn<XnnDeconvolution>(node, status, creation.handle, context, row,
                                              adjustment);
    }
  }
  return refuse_datatypes(node, context);
}

}  // namespace executorch::backends::xnnpack
