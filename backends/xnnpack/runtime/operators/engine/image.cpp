// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Pooling, reductions over images, resizing and transposing of float32 on the engine.
#include <algorithm>

#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/kernels/engine/pack/pack.h>
#include <executorch/kernels/engine/pool/pool.h>
#include <executorch/kernels/engine/resize/resize.h>
#include <executorch/runtime/executor/plan/optional_vector.h>

namespace executorch::backends::xnnpack {

using runtime::Error;
using runtime::internal::count;

namespace {

namespace fb = fb_xnnpack;

constexpr uint32_t kAlignCorners = 8, kLegacyResizing = 4;

/// The padding before an image, for a window with TensorFlow's padding.
size_t padding_before(uint64_t size, uint64_t places, uint64_t kernel, uint64_t stride,
                      uint64_t dilation) {
  const uint64_t needed = (places - 1) * stride + (kernel - 1) * dilation + 1;
  return needed > size ? static_cast<size_t>((needed - size) / 2) : 0;
}

engine::ImageSize image_size(const Shape& shape) {
  return {static_cast<size_t>(shape.dims[1]), static_cast<size_t>(shape.dims[2])};
}

class Pooling final : public EngineOperator {
 public:
  Pooling(const Node& node, const OperatorContext& context)
      : EngineOperator(node.kind == NodeKind::MaxPooling2d ? "Max Pooling (NHWC, F32)"
                                                           : "Average Pooling (NHWC, F32)",
                       context),
        is_max_(node.kind == NodeKind::MaxPooling2d),
        is_same_((node.flags & kSamePadding) != 0) {
    const Window2d& w = node.window;
    engine::PoolCall& pool = call_.pool;
    pool.kernel_height = w.height;
    pool.kernel_width = w.width;
    pool.stride_height = w.stride_height;
    pool.stride_width = w.stride_width;
    pool.dilation_height = is_max_ ? w.dilation_height : 1;
    pool.dilation_width = is_max_ ? w.dilation_width : 1;
    pool.pad_top = w.top;
    pool.pad_left = w.left;
    pool.clamp_min = node.clamp.min;
    pool.clamp_max = node.clamp.max;
    call_.count_include_pad = false;
    call_.pad_bottom = w.bottom;
    call_.pad_right = w.right;
  }

  Error reshape(const Tensors& t) override {
    const Shape &x = *t.operands[0].shape, &y = *t.results[0].shape;
    engine::PoolCall& pool = call_.pool;
    pool.batch = static_cast<size_t>(x.dims[0]);
    pool.channels = pool.input_pixel_stride = pool.output_pixel_stride =
        static_cast<size_t>(x.dims[3]);
    pool.input_size = image_size(x);
    pool.output_size = image_size(y);
    if (is_same_) {
      pool.pad_top = padding_before(x.dims[1], y.dims[1], pool.kernel_height, pool.stride_height,
                                    pool.dilation_height);
      pool.pad_left = padding_before(x.dims[2], y.dims[2], pool.kernel_width, pool.stride_width,
                                     pool.dilation_width);
    }
    return Error::Ok;
  }
  Error run() override {
    call_.pool.input = operand(0);
    call_.pool.output = result();
    if (is_max_) {
      engine::max_pool2d(call_.pool, threads());
    } else {
      engine::average_pool2d(call_, threads());
    }
    return Error::Ok;
  }

 private:
  bool is_max_, is_same_;
  engine::AveragePoolCall call_;
};

/// Mean or sum over height and width.
class PointSum final : public EngineOperator {
 public:
  PointSum(const OperatorContext& context, bool is_mean)
      : EngineOperator(is_mean ? "Mean (ND, F32)" : "Sum (ND, F32)", context), is_mean_(is_mean) {}

  Error reshape(const Tensors& t) override {
    const Shape& x = *t.operands[0].shape;
    call_.batch = static_cast<size_t>(x.dims[0]);
    call_.points = static_cast<size_t>(x.dims[1] * x.dims[2]);
    call_.channels = static_cast<size_t>(x.dims[3]);
    call_.scale = is_mean_ ? 1.0f / static_cast<float>(call_.points) : 1.0f;
    return Error::Ok;
  }
  Error run() override {
    call_.input = operand(0);
    call_.output = result();
    engine::sum_points(call_, threads());
    return Error::Ok;
  }

 private:
  bool is_mean_;
  engine::PointSumCall call_;
};

class Resize final : public EngineOperator {
 public:
  Resize(const Node& node, const OperatorContext& context)
      : EngineOperator("Resize Bilinear (NHWC, F32)", context) {
    call_.align_corners = (node.flags & kAlignCorners) != 0;
  }

  Error reshape(const Tensors& t) override {
    const Shape& x = *t.operands[0].shape;
    call_.batch = static_cast<size_t>(x.dims[0]);
    call_.channels = static_cast<size_t>(x.dims[3]);
    call_.input_size = image_size(x);
    call_.output_size = image_size(*t.results[0].shape);
    return Error::Ok;
  }
  Error run() override {
    call_.input = operand(0);
    call_.output = result();
    engine::resize_bilinear(call_, threads());
    return Error::Ok;
  }

 private:
  engine::ResizeCall call_;
};

/// Swaps two neighboring groups of dimensions.
template <typename T>
class Transpose final : public EngineOperator {
 public:
  Transpose(const OperatorContext& context, size_t first, size_t middle)
      : EngineOperator(sizeof(T) == 1 ? "Transpose (ND, X8)" : "Transpose (ND, X32)", context),
        first_(first),
        middle_(middle) {}

  Error reshape(const Tensors& t) override {
    const Shape& x = *t.operands[0].shape;
    call_.batch = call_.rows = call_.columns = 1;
    for (size_t d = 0; d < x.rank; ++d) {
      size_t& part = d < first_ ? call_.batch : d < middle_ ? call_.rows : call_.columns;
      part *= static_cast<size_t>(x.dims[d]);
    }
    return Error::Ok;
  }
  Error run() override {
    call_.in = static_cast<const T*>(tensors().operands[0].data);
    call_.out = static_cast<T*>(tensors().results[0].data);
    if constexpr (sizeof(T) == 1) {
      engine::transpose_8bit(call_, threads());
    } else {
      engine::transpose_32bit(call_, threads());
    }
    return Error::Ok;
  }

 private:
  size_t first_, middle_;
  engine::TransposeOf<T> call_;
};

/// Finds the two groups of dimensions that a permutation swaps; false for other permutations.
bool swaps_neighbors(const Node& node, size_t* first, size_t* middle) {
  const auto* order = node.as<fb::StaticTranspose>().perm();
  const size_t rank = count(order);
  size_t begin = 0;
  while (begin < rank && order->Get(static_cast<uint32_t>(begin)) == begin) {
    ++begin;
  }
  if (begin == rank) {
    return false;
  }
  const size_t meets = order->Get(static_cast<uint32_t>(begin)), behind = rank - meets;
  for (size_t d = begin; d < rank; ++d) {
    const size_t moved = d - begin;
    const size_t expected = moved < behind ? meets + moved : begin + (moved - behind);
    if (order->Get(static_cast<uint32_t>(d)) != expected) {
      return false;
    }
  }
  *first = begin;
  *middle = meets;
  return true;
}

/// True if a transposition of bytes turns three planes into points of three.
bool interleaves_three(const Shape& shape, size_t first, size_t middle) {
  return middle == first + 1 && shape.dims[first] == 3;
}

}  // namespace

OperatorResult create_pooling(const Node& node, const OperatorContext& context) {
  if (!is_float32(node, context)) {
    return create_xnn_pooling(node, context);
  }
  return std::unique_ptr<Operator>(std::make_unique<Pooling>(node, context));
}

OperatorResult create_reduction(const Node& node, const OperatorContext& context) {
  if (!is_float32(node, context)) {
    return create_xnn_reduction(node, context);
  }
  return std::unique_ptr<Operator>(
      std::make_unique<PointSum>(context, node.kind == NodeKind::GlobalAvgPooling2d));
}

OperatorResult create_resize(const Node& node, const OperatorContext& context) {
  if (!is_float32(node, context) || (node.flags & kLegacyResizing) != 0) {
    return create_xnn_resize(node, context);
  }
  return std::unique_ptr<Operator>(std::make_unique<Resize>(node, context));
}

OperatorResult create_transpose(const Node& node, const OperatorContext& context) {
  const Value &x = context.graph.values[node.operand(0)], &y = context.graph.values[node.result()];
  size_t first = 0, middle = 0;
  if (x.datatype == Datatype::Bool) {
    return create_plain_transpose(node, context);
  }
  if (!have_same_elements(x, y) || !swaps_neighbors(node, &first, &middle)) {
    return create_xnn_transpose(node, context);
  }
  const size_t size = bytes_of(x.datatype, {});
  if (size == 4) {
    return std::unique_ptr<Operator>(std::make_unique<Transpose<uint32_t>>(context, first, middle));
  }
  if (size == 1 && interleaves_three(x.declared, first, middle)) {
    return std::unique_ptr<Operator>(std::make_unique<Transpose<uint8_t>>(context, first, middle));
  }
  return create_xnn_transpose(node, context);
}

}  // namespace executorch::backends::xnnpack
