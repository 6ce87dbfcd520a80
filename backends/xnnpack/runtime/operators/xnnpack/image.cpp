// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Pooling, reductions over images, resizing and transposing on XNNPACK.
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/operators/xnnpack/operator.h>
#include <executorch/runtime/executor/plan/optional_vector.h>

namespace executorch::backends::xnnpack {
namespace {

namespace fb = fb_xnnpack;

constexpr uint32_t kWindowFlags = XNN_FLAG_TENSORFLOW_SAME_PADDING;
constexpr uint32_t kResizeFlags = XNN_FLAG_ALIGN_CORNERS | XNN_FLAG_TENSORFLOW_LEGACY_MODE;

/// The functions that create, reshape and set up an operator on NHWC images, by kind and datatype.
struct ImageVariant {
  NodeKind kind;
  Datatype datatype;
  const char* label;
  xnn_status (*create)(const Node&, const Value& result, xnn_operator_t*);
  xnn_status (*reshape)(xnn_operator_t, const Shape&, size_t*, size_t*, pthreadpool_t);
  xnn_status (*setup)(xnn_operator_t, const Tensors&);
};

template <typename Function, typename T>
xnn_status create_max(Function* create, const Node& n, T min, T max, xnn_operator_t* op) {
  const Window2d& w = n.window;
  return create(w.top, w.right, w.bottom, w.left, w.height, w.width, w.stride_height,
                w.stride_width, w.dilation_height, w.dilation_width, min, max,
                n.flags & kWindowFlags, op);
}
template <typename T, typename Function>
xnn_status create_integer_max(Function* create, const Node& n, const Value& result,
                              xnn_operator_t* op) {
  const IntegerClamp<T> clamp = quantized_clamp<T>(n.clamp, result);
  return create_max(create, n, clamp.min, clamp.max, op);
}
template <auto create>
xnn_status create_resize(const Node& n, const Value&, xnn_operator_t* op) {
  const auto& table = n.as<fb::StaticResizeBilinear2D>();
  return create(table.new_height(), table.new_width(), n.flags & kResizeFlags, op);
}

/// For reshape functions that return scratch memory and the size of the result.
template <auto reshape>
xnn_status reshape_window(xnn_operator_t op, const Shape& x, size_t* scratch, size_t* alignment,
                          pthreadpool_t threads) {
  size_t height = 0, width = 0;
  return reshape(op, x.dims[0], x.dims[1], x.dims[2], x.dims[3], x.dims[3], x.dims[3], scratch,
                 alignment, &height, &width, threads);
}
template <auto reshape>
xnn_status reshape_max(xnn_operator_t op, const Shape& x, size_t*, size_t*, pthreadpool_t threads) {
  size_t height = 0, width = 0;
  return reshape(op, x.dims[0], x.dims[1], x.dims[2], x.dims[3], x.dims[3], x.dims[3], &height,
                 &width, threads);
}
template <auto reshape>
xnn_status reshape_resize(xnn_operator_t op, const Shape& x, size_t* scratch, size_t* alignment,
                          pthreadpool_t threads) {
  return reshape(op, x.dims[0], x.dims[1], x.dims[2], x.dims[3], x.dims[3], x.dims[3], scratch,
                 alignment, threads);
}

template <auto setup>
xnn_status setup_plain(xnn_operator_t op, const Tensors& t) {
  return setup(op, any(t.operands[0].data), any(t.results[0].data));
}
template <auto setup>
xnn_status setup_scratch(xnn_operator_t op, const Tensors& t) {
  return setup(op, t.scratch, any(t.operands[0].data), any(t.results[0].data));
}

constexpr ImageVariant kVariants[] = {
    {NodeKind::MaxPooling2d, Datatype::QInt8, "Max Pooling (NHWC, S8)",
     [](const Node& n, const Value& result, xnn_operator_t* op) {
       return create_integer_max<int8_t>(xnn_create_max_pooling2d_nhwc_s8, n, result, op);
     },
     reshape_max<xnn_reshape_max_pooling2d_nhwc_s8>, setup_plain<xnn_setup_max_pooling2d_nhwc_s8>},
    {NodeKind::MaxPooling2d, Datatype::QUInt8, "Max Pooling (NHWC, U8)",
     [](const Node& n, const Value& result, xnn_operator_t* op) {
       return create_integer_max<uint8_t>(xnn_create_max_pooling2d_nhwc_u8, n, result, op);
     },
     reshape_max<xnn_reshape_max_pooling2d_nhwc_u8>, setup_plain<xnn_setup_max_pooling2d_nhwc_u8>},
    {NodeKind::ArgMaxPooling2d, Datatype::Float32, "ArgMax Pooling (NHWC, F32)",
     [](const Node& n, const Value&, xnn_operator_t* op) {
       const Window2d& w = n.window;
       return xnn_create_argmax_pooling2d_nhwc_f32(w.top, w.right, w.bottom, w.left, w.height,
                                                   w.width, n.flags & kWindowFlags, op);
     },
     reshape_window<xnn_reshape_argmax_pooling2d_nhwc_f32>,
     [](xnn_operator_t op, const Tensors& t) {
       return xnn_setup_argmax_pooling2d_nhwc_f32(op, t.scratch, any(t.operands[0].data),
                                                  any(t.results[0].data), any(t.results[1].data));
     }},
    {NodeKind::StaticResizeBilinear2D, Datatype::Float32, "Resize Bilinear (NHWC, F32)",
     create_resize<xnn_create_resize_bilinear2d_nhwc_f32>,
     reshape_resize<xnn_reshape_resize_bilinear2d_nhwc_f32>,
     setup_scratch<xnn_setup_resize_bilinear2d_nhwc_f32>},
    {NodeKind::StaticResizeBilinear2D, Datatype::QInt8, "Resize Bilinear (NHWC, S8)",
     create_resize<xnn_create_resize_bilinear2d_nhwc_s8>,
     reshape_resize<xnn_reshape_resize_bilinear2d_nhwc_s8>,
     setup_scratch<xnn_setup_resize_bilinear2d_nhwc_s8>},
    {NodeKind::StaticResizeBilinear2D, Datatype::QUInt8, "Resize Bilinear (NHWC, U8)",
     create_resize<xnn_create_resize_bilinear2d_nhwc_u8>,
     reshape_resize<xnn_reshape_resize_bilinear2d_nhwc_u8>,
     setup_scratch<xnn_setup_resize_bilinear2d_nhwc_u8>},
};

class XnnImage final : public XnnOperator {
 public:
  XnnImage(const OperatorContext& context, const ImageVariant& variant, const Node& node,
           xnn_operator_t handle)
      : XnnOperator(variant.label, context, handle), variant_(variant), node_(node) {}

 private:
  xnn_status reshape_xnn(const Tensors& t) override {
    // XNNPACK caches the addresses of pixels by height and width, but not by channels.
    const uint64_t channels = t.operands[0].shape->dims[3];
    if (channels_ != 0 && channels != channels_) {
      xnn_operator_t handle = nullptr;
      const xnn_status status = variant_.create(node_, *t.results[0].value, &handle);
      if (status != xnn_status_success) {
        return status;
      }
      replace(handle);
    }
    channels_ = channels;
    return variant_.reshape(handle(), *t.operands[0].shape, scratch_size(), scratch_alignment(),
                            threads());
  }
  xnn_status setup_xnn(const Tensors& t) override { return variant_.setup(handle(), t); }

  const ImageVariant& variant_;
  Node node_;
  uint64_t channels_ = 0;
};

OperatorResult create_image(const Node& node, const OperatorContext& context) {
  const Value &x = context.graph.values[node.operand(0)], &y = context.graph.values[node.result()];
  for (const ImageVariant& row : kVariants) {
    if (row.kind == node.kind && row.datatype == x.datatype && have_same_elements(x, y)) {
      xnn_operator_t handle = nullptr;
      const xnn_status status = row.create(node, y, &handle);
      return wrap_xnn<XnnImage>(node, status, handle, context, row, node);
    }
  }
  return refuse_datatypes(node, context);
}

/// Mean or sum over height and width of images in NHWC.
class XnnReduction final : public XnnOperator {
 public:
  XnnReduction(const OperatorContext& context, const char* label, xnn_operator_t handle)
      : XnnOperator(label, context, handle) {}

 private:
  xnn_status reshape_xnn(const Tensors& t) override {
    const XnnDims dims(*t.operands[0].shape);
    // Reducing the channel dimension of size 1, too, selects XNNPACK's faster sum over rows.
    const size_t axes = dims.dims[3] == 1 ? 3 : 2;
    const int64_t numbers[] = {1, 2, 3};
    return xnn_reshape_reduce_nd(handle(), axes, numbers, dims.count, dims.dims, scratch_size(),
                                 scratch_alignment(), threads());
  }
  xnn_status setup_xnn(const Tensors& t) override {
    return xnn_setup_reduce_nd(handle(), t.scratch, t.operands[0].data, t.results[0].data);
  }
};

/// The functions for elements of a size.
struct TransposeVariant {
  size_t item;
  const char* label;
  xnn_status (*create)(uint32_t flags, xnn_operator_t*);
  xnn_status (*reshape)(xnn_operator_t, size_t, const size_t*, const size_t*, pthreadpool_t);
  xnn_status (*setup)(xnn_operator_t, const void*, void*);
};
constexpr TransposeVariant kTransposes[] = {
    {1, "Transpose (ND, X8)", xnn_create_transpose_nd_x8, xnn_reshape_transpose_nd_x8,
     xnn_setup_transpose_nd_x8},
    {2, "Transpose (ND, X16)", xnn_create_transpose_nd_x16, xnn_reshape_transpose_nd_x16,
     xnn_setup_transpose_nd_x16},
    {4, "Transpose (ND, X32)", xnn_create_transpose_nd_x32, xnn_reshape_transpose_nd_x32,
     xnn_setup_transpose_nd_x32},
};

class XnnTranspose final : public XnnOperator {
 public:
  XnnTranspose(const OperatorContext& context, const Node& node, const TransposeVariant& variant,
               xnn_operator_t handle)
      : XnnOperator(variant.label, context, handle), variant_(variant) {
    const auto* perm = node.as<fb::StaticTranspose>().perm();
    for (uint32_t i = 0; i < runtime::internal::count(perm) && i < XNN_MAX_TENSOR_DIMS; ++i) {
      order_[i] = perm->Get(i);
    }
  }

 private:
  xnn_status reshape_xnn(const Tensors& t) override {
    const XnnDims dims(*t.operands[0].shape);
    return variant_.reshape(handle(), dims.count, dims.dims, order_, threads());
  }
  xnn_status setup_xnn(const Tensors& t) override {
    return variant_.setup(handle(), t.operands[0].data, t.results[0].data);
  }

  const TransposeVariant& variant_;
  size_t order_[XNN_MAX_TENSOR_DIMS] = {};
};

}  // namespace

OperatorResult create_xnn_pooling(const Node& node, const OperatorContext& context) {
  return create_image(node, context);
}
OperatorResult create_xnn_resize(const Node& node, const OperatorContext& context) {
  return create_image(node, context);
}

OperatorResult create_xnn_reduction(const Node& node, const OperatorContext& context) {
  const Value &x = context.graph.values[node.operand(0)], &y = context.graph.values[node.result()];
  const xnn_quantization_params in = quantization_of(x), out = quantization_of(y);
  if (x.datatype != y.datatype) {
    return refuse_datatypes(node, context);
  }
  const bool is_sum = node.kind == NodeKind::Sum;
  xnn_operator_t handle = nullptr;
  const xnn_status status =
      xnn_create_reduce_nd(is_sum ? xnn_reduce_sum : xnn_reduce_mean, xnn_datatype_of(x.datatype),
                           &in, &out, node.flags & XNN_FLAG_KEEP_DIMS, &handle);
  return wrap_xnn<XnnReduction>(node, status, handle, context, is_sum ? "Sum (ND)" : "Mean (ND)");
}

OperatorResult create_xnn_transpose(const Node& node, const OperatorContext& context) {
  const size_t item = ET_UNWRAP(moved_element_bytes(node, context));
  for (const TransposeVariant& row : kTransposes) {
    if (row.item == item) {
      xnn_operator_t handle = nullptr;
      const xnn_status status = row.create(0, &handle);
      return wrap_xnn<XnnTranspose>(node, status, handle, context, node, row);
    }
  }
  return refuse_datatypes(node, context);
}

}  // namespace executorch::backends::xnnpack
