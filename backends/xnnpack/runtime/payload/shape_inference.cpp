// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/payload/shape_inference.h>

#include <inttypes.h>

#include <algorithm>
#include <iterator>

#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

namespace fb = fb_xnnpack;
using runtime::Error;
using runtime::Result;
using runtime::Span;
using runtime::internal::count;

namespace {

// XNNPACK's flags of nodes that change shapes.
constexpr uint32_t kKeepDims = 64;
constexpr uint32_t kLeftOut = UINT32_MAX;

using Sizes = const flatbuffers::Vector<uint32_t>*;

template <typename Node>
Window vertical(const Node& n, uint64_t kernel, uint64_t stride, uint64_t dilation) {
  return {n.padding_top(), n.padding_bottom(), kernel, stride, dilation};
}
template <typename Node>
Window horizontal(const Node& n, uint64_t kernel, uint64_t stride, uint64_t dilation) {
  return {n.padding_left(), n.padding_right(), kernel, stride, dilation};
}

/// True if the window had at least one position on the images.
bool has_places(const Shape& images) { return images.dims[1] > 0 && images.dims[2] > 0; }

/// Shape inference of a node. Functions return false if the operands do not fit.
class Step final {
 public:
  Step(Shapes& shapes, const fb::XNode& node) : shapes_(shapes), node_(node) {}

  bool run() {
    switch (node_.xnode_union_type()) {
#define NODE(kind, layout, shape, create, datatypes) \
  case fb::XNodeUnion::kind:                         \
    return shape(*as<fb::layout>());
#include <executorch/backends/xnnpack/runtime/payload/node_kinds.inc>
#undef NODE
      default:
        return false;
    }
  }

 private:
  template <typename T>
  const T* as() const {
    return static_cast<const T*>(node_.xnode_union());
  }
  const Shape* image(uint32_t id) const {
    const Shape* shape = shapes_[id];
    return shape != nullptr && shape->rank == 4 ? shape : nullptr;
  }

  template <typename Node>
  bool same(const Node& n) {
    const Shape* x = shapes_[n.input_id()];
    return x != nullptr && shapes_.make(n.output_id(), Shape(*x));
  }
  bool same_rows(const fb::Node1x1& n) {
    const Shape* x = shapes_[n.input_id()];
    return x != nullptr && x->rank > 0 && same(n);
  }
  bool binary(const fb::Node2x1& n);
  bool select(const fb::Select& n);
  bool fully_connected(const fb::FullyConnected& n);
  bool batch_matrix_multiply(const fb::Node2x1& n);
  bool attention(const fb::ScaledDotProductAttention& n);
  bool convolution(const fb::Convolution& n);
  bool transposed_convolution(const fb::Convolution& n);
  bool pooling(const fb::Pooling& n);
  bool argmax_pooling(const fb::ArgMaxPooling2d& n);
  bool over_image(const fb::Node1x1& n);
  bool resize(const fb::StaticResizeBilinear2D& n);
  bool pad(const fb::StaticConstantPad& n);
  bool transpose(const fb::StaticTranspose& n);
  bool reshape(const fb::StaticReshape& n);
  bool slice(const fb::StaticSlice& n);
  bool gather(const fb::StaticGather& n);
  bool concatenate(const fb::Concatenate& n);
  bool weights_fit(const fb::Convolution& n, const Shape& expected) const;

  Shapes& shapes_;
  const fb::XNode& node_;
};

bool Step::binary(const fb::Node2x1& n) {
  const Shape *a = shapes_[n.input1_id()], *b = shapes_[n.input2_id()];
  Shape out;
  return a != nullptr && b != nullptr && broadcast(*a, *b, &out) &&
         shapes_.make(n.output_id(), out);
}

bool Step::select(const fb::Select& n) {
  const Shape *condition = shapes_[n.condition_id()], *a = shapes_[n.input1_id()],
              *b = shapes_[n.input2_id()];
  Shape chosen, out;
  return condition != nullptr && a != nullptr && b != nullptr && broadcast(*a, *b, &chosen) &&
         broadcast(*condition, chosen, &out) && shapes_.make(n.output_id(), out);
}

bool Step::fully_connected(const fb::FullyConnected& n) {
  const Shape *x = shapes_[n.input1_id()], *filter = shapes_[n.filter_id()];
  if (x == nullptr || filter == nullptr || x->rank == 0 || filter->rank != 2) {
    return false;
  }
  const bool transposed = (n.flags() & kTransposeWeights) != 0;
  const uint64_t outputs = filter->dims[transposed ? 1 : 0];
  Shape out = *x;
  out.dims[out.rank - 1] = outputs;
  return x->dims[x->rank - 1] == filter->dims[transposed ? 0 : 1] &&
         (n.bias_id() == kLeftOut || is_vector(shapes_[n.bias_id()], outputs)) &&
         shapes_.make(n.output_id(), out);
}

bool Step::batch_matrix_multiply(const fb::Node2x1& n) {
  const Shape *a = shapes_[n.input1_id()], *b = shapes_[n.input2_id()];
  if (a == nullptr || b == nullptr || a->rank < 2 || b->rank < 2) {
    return false;
  }
  // Batch dimensions are broadcast, matrix dimensions are not.
  const uint64_t rows = a->dims[a->rank - 2], inner = a->dims[a->rank - 1];
  const bool transposed = (n.flags() & kTransposeWeights) != 0;
  const uint64_t inner_of_b = b->dims[b->rank - (transposed ? 1 : 2)];
  const uint64_t columns = b->dims[b->rank - (transposed ? 2 : 1)];
  Shape left = *a, right = *b, out;
  left.dims[a->rank - 2] = left.dims[a->rank - 1] = 1;
  right.dims[b->rank - 2] = right.dims[b->rank - 1] = 1;
  if (inner != inner_of_b || !broadcast(left, right, &out)) {
    return false;
  }
  out.dims[out.rank - 2] = rows;
  out.dims[out.rank - 1] = columns;
  return shapes_.make(n.output_id(), out);
}

bool Step::attention(const fb::ScaledDotProductAttention& n) {
  const Shape *query = image(n.query_id()), *key = image(n.key_id()), *value = image(n.value_id());
  const Shape* scale = shapes_[n.scale_id()];
  const Shape* mask = n.mask_id() == kLeftOut ? nullptr : shapes_[n.mask_id()];
  if (query == nullptr || key == nullptr || value == nullptr || mask == nullptr) {
    return false;
  }
  const uint64_t batch = query->dims[0], heads = query->dims[1], tokens = query->dims[2];
  const uint64_t channels = query->dims[3], keys = key->dims[2];
  const bool fits = key->dims[0] == batch && key->dims[1] == heads && key->dims[3] == channels &&
                    value->dims[0] == batch && value->dims[1] == heads && value->dims[2] == keys &&
                    is_vector(scale, channels) && mask->rank == 2 && mask->dims[0] == tokens &&
                    mask->dims[1] == keys;
  return fits && shapes_.make(n.output_id(), {4, {batch, heads, tokens, value->dims[3]}});
}

bool Step::weights_fit(const fb::Convolution& n, const Shape& expected) const {
  const Shape* filter = shapes_[n.filter_id()];
  const bool depthwise = node_.xnode_union_type() == fb::XNodeUnion::DepthwiseConv2d;
  const uint64_t outputs = expected.dims[depthwise ? 3 : 0];
  return filter != nullptr && filter->rank == 4 &&
         std::equal(filter->dims, filter->dims + 4, expected.dims) &&
         (n.bias_id() == kLeftOut || is_vector(shapes_[n.bias_id()], outputs));
}

bool Step::convolution(const fb::Convolution& n) {
  const Shape* x = image(n.input1_id());
  if (x == nullptr) {
    return false;
  }
  const uint64_t height = n.kernel_height(), width = n.kernel_width(), groups = n.groups();
  const uint64_t inputs = n.group_input_channels(), outputs = groups * n.group_output_channels();
  const bool depthwise = node_.xnode_union_type() == fb::XNodeUnion::DepthwiseConv2d;
  const Shape filter = depthwise ? Shape{4, {1, height, width, outputs}}
                                 : Shape{4, {outputs, height, width, inputs}};
  const bool same = (n.flags() & kSamePadding) != 0;
  const Window v = vertical(n, height, n.subsampling_height(), n.dilation_height());
  const Window h = horizontal(n, width, n.subsampling_width(), n.dilation_width());
  const Shape out{4,
                  {x->dims[0], places(x->dims[1], v, same), places(x->dims[2], h, same), outputs}};
  return (!depthwise || inputs == 1) && x->dims[3] == groups * inputs && weights_fit(n, filter) &&
         padding_fits(*x, v, h) && has_places(out) && shapes_.make(n.output_id(), out);
}

bool Step::transposed_convolution(const fb::Convolution& n) {
  const Shape* x = image(n.input1_id());
  if (x == nullptr) {
    return false;
  }
  const uint64_t outputs = uint64_t{n.groups()} * n.group_output_channels();
  const Shape filter{4, {outputs, n.kernel_height(), n.kernel_width(), n.group_input_channels()}};
  // The size of an image on which the same window has as many positions as there are elements.
  const auto spread = [](uint64_t size, const Window& w, uint64_t more) -> uint64_t {
    if (size == 0 || w.kernel == 0 || w.stride == 0 || w.dilation == 0 || more >= w.stride) {
      return 0;
    }
    const uint64_t whole = (size - 1) * w.stride + (w.kernel - 1) * w.dilation + 1 + more;
    return whole > w.before + w.after ? whole - w.before - w.after : 0;
  };
  const Shape out{
      4,
      {x->dims[0],
       spread(x->dims[1],
              vertical(n, n.kernel_height(), n.subsampling_height(), n.dilation_height()),
              n.adjustment_height()),
       spread(x->dims[2],
              horizontal(n, n.kernel_width(), n.subsampling_width(), n.dilation_width()),
              n.adjustment_width()),
       outputs}};
  return x->dims[3] == uint64_t{n.groups()} * n.group_input_channels() && weights_fit(n, filter) &&
         has_places(out) && shapes_.make(n.output_id(), out);
}

bool Step::pooling(const fb::Pooling& n) {
  const Shape* x = image(n.input_id());
  if (x == nullptr) {
    return false;
  }
  const bool average = node_.xnode_union_type() == fb::XNodeUnion::AvgPooling2d;
  const uint64_t down = average ? 1 : n.dilation_height(),
                 across = average ? 1 : n.dilation_width();
  const bool same = (n.flags() & kSamePadding) != 0;
  const Window v = vertical(n, n.pooling_height(), n.stride_height(), down);
  const Window h = horizontal(n, n.pooling_width(), n.stride_width(), across);
  // A window that covers only padding would read no element.
  const bool inside =
      std::max(v.before, v.after) < v.kernel && std::max(h.before, h.after) < h.kernel;
  const uint64_t rows = places(x->dims[1], v, same), columns = places(x->dims[2], h, same);
  const bool dilated = down > 1 || across > 1;
  const bool read = !dilated || (!same && reads_image(x->dims[1], v, rows) &&
                                 reads_image(x->dims[2], h, columns));
  const Shape out{4, {x->dims[0], rows, columns, x->dims[3]}};
  return (inside || same) && read && has_places(out) && shapes_.make(n.output_id(), out);
}

bool Step::argmax_pooling(const fb::ArgMaxPooling2d& n) {
  const Shape* x = image(n.input_id());
  if (x == nullptr) {
    return false;
  }
  const bool same = (n.flags() & kSamePadding) != 0;
  const uint64_t height = n.pooling_height(), width = n.pooling_width();
  const Shape out{4,
                  {x->dims[0], places(x->dims[1], vertical(n, height, height, 1), same),
                   places(x->dims[2], horizontal(n, width, width, 1), same), x->dims[3]}};
  return has_places(out) && shapes_.make(n.output_value_id(), out) &&
         shapes_.make(n.output_index_id(), out);
}

bool Step::over_image(const fb::Node1x1& n) {
  const Shape* x = image(n.input_id());
  if (x == nullptr) {
    return false;
  }
  const Shape kept{4, {x->dims[0], 1, 1, x->dims[3]}}, dropped{2, {x->dims[0], x->dims[3]}};
  return shapes_.make(n.output_id(), (n.flags() & kKeepDims) != 0 ? kept : dropped);
}

bool Step::resize(const fb::StaticResizeBilinear2D& n) {
  const Shape* x = image(n.input_id());
  return x != nullptr &&
         shapes_.make(n.output_id(), {4, {x->dims[0], n.new_height(), n.new_width(), x->dims[3]}});
}

bool Step::pad(const fb::StaticConstantPad& n) {
  const Shape* x = shapes_[n.input_id()];
  const Sizes before = n.pre_paddings(), after = n.post_paddings();
  if (x == nullptr || count(before) != x->rank || count(after) != x->rank) {
    return false;
  }
  Shape out = *x;
  for (uint32_t d = 0; d < out.rank; ++d) {
    out.dims[d] += uint64_t{before->Get(d)} + after->Get(d);
  }
  return shapes_.make(n.output_id(), out);
}

bool Step::transpose(const fb::StaticTranspose& n) {
  const Shape* x = shapes_[n.input_id()];
  if (x == nullptr || count(n.perm()) != x->rank || n.num_dims() != x->rank || x->rank == 0) {
    return false;
  }
  Shape out = *x;
  uint32_t seen = 0;
  for (uint32_t d = 0; d < out.rank; ++d) {
    const uint32_t from = n.perm()->Get(d);
    if (from >= out.rank || (seen >> from & 1) != 0) {
      return false;
    }
    seen |= uint32_t{1} << from;
    out.dims[d] = x->dims[from];
  }
  return shapes_.make(n.output_id(), out);
}

/// Sets the number of elements; returns false if it may exceed 2^32, which no value has.
bool count_bounded(const Shape& shape, uint64_t* product) {
  constexpr uint64_t kMost = uint64_t{1} << 32;
  *product = 1;
  for (size_t d = 0; d < shape.rank; ++d) {
    if (shape.dims[d] != 0 && *product > kMost / shape.dims[d]) {
      return false;
    }
    *product *= shape.dims[d];
  }
  return true;
}

bool Step::reshape(const fb::StaticReshape& n) {
  const Shape* x = shapes_[n.input_id()];
  if (x == nullptr || count(n.new_shape()) != n.num_dims() || n.num_dims() > Shape::kMaxRank) {
    return false;
  }
  // The last size of 0 is inferred; those before it are the operand's at the same places.
  Shape out, given, rest = *x;
  out.rank = given.rank = n.num_dims();
  size_t open = out.rank;
  for (uint32_t d = 0; d < out.rank; ++d) {
    given.dims[d] = out.dims[d] = n.new_shape()->Get(d);
    if (out.dims[d] != 0) {
      continue;
    }
    if (open < out.rank) {
      if (open >= x->rank) {
        return false;
      }
      out.dims[open] = x->dims[open];
      rest.dims[open] = 1;
    }
    given.dims[d] = 1;
    open = d;
  }
  uint64_t count_given = 0, count_rest = 0, count_out = 0;
  if (!count_bounded(given, &count_given) || !count_bounded(rest, &count_rest)) {
    return false;
  }
  if (open < out.rank) {
    out.dims[open] = count_rest / count_given;
  }
  return count_bounded(out, &count_out) && count_out == elements(*x) &&
         shapes_.make(n.output_id(), out);
}

bool Step::slice(const fb::StaticSlice& n) {
  const Shape* x = shapes_[n.input_id()];
  if (x == nullptr || n.num_dims() != x->rank || count(n.offsets()) != x->rank ||
      count(n.sizes()) != x->rank) {
    return false;
  }
  Shape out = *x;
  for (uint32_t d = 0; d < out.rank; ++d) {
    const uint64_t first = n.offsets()->Get(d), size = n.sizes()->Get(d);
    if (first > x->dims[d] || size > x->dims[d] - first) {
      return false;
    }
    // 0 means all elements that follow.
    out.dims[d] = size == 0 ? x->dims[d] - first : size;
  }
  return shapes_.make(n.output_id(), out);
}

bool Step::gather(const fb::StaticGather& n) {
  const Shape* x = shapes_[n.input_id()];
  if (x == nullptr || n.axis() >= x->rank) {
    return false;
  }
  for (uint32_t i = 0; i < count(n.indices()); ++i) {
    if (n.indices()->Get(i) >= x->dims[n.axis()]) {
      return false;
    }
  }
  Shape out = *x;
  out.dims[n.axis()] = count(n.indices());
  return shapes_.make(n.output_id(), out);
}

bool Step::concatenate(const fb::Concatenate& n) {
  const size_t operands = concatenated(node_.xnode_union_type());
  const uint32_t ids[] = {n.input1_id(), n.input2_id(), n.input3_id(), n.input4_id(),
                          n.input5_id()};
  Shape out;
  for (size_t i = 0; i < operands; ++i) {
    const Shape* x = ids[i] == kLeftOut ? nullptr : shapes_[ids[i]];
    if (x == nullptr || n.axis() >= x->rank || (i > 0 && x->rank != out.rank)) {
      return false;
    }
    const uint64_t so_far = i == 0 ? 0 : out.dims[n.axis()];
    for (size_t d = 0; d < x->rank && i > 0; ++d) {
      if (d != n.axis() && x->dims[d] != out.dims[d]) {
        return false;
      }
    }
    out = *x;
    out.dims[n.axis()] += so_far;
  }
  return shapes_.make(n.output_id(), out);
}

}  // namespace

namespace {

/// Logs how an input's shape differs from the declared one.
void log_size_mismatch(uint32_t input, const Shape& given, const Shape& declared) {
  if (given.rank != declared.rank) {
    ET_LOG(Error, "xnnpack: input %" PRIu32 " has %zu dimensions, expected %zu", input, given.rank,
           declared.rank);
    return;
  }
  for (size_t d = 0; d < given.rank; ++d) {
    if (given.dims[d] == 0 || given.dims[d] > declared.dims[d]) {
      ET_LOG(Error,
             "xnnpack: input %" PRIu32 " has size %" PRIu64
             " in dimension %zu in memory order, expected 1 to %" PRIu64,
             input, given.dims[d], d, declared.dims[d]);
      return;
    }
  }
  ET_LOG(Error, "xnnpack: input %" PRIu32 " is given twice", input);
}

}  // namespace

Shape declared_shape(const fb::TensorValue& tensor) {
  Shape shape;
  shape.rank = count(tensor.dims());
  for (uint32_t d = 0; d < shape.rank; ++d) {
    shape.dims[d] = tensor.dims()->Get(d);
  }
  return shape;
}

Result<std::vector<Shape>> infer_all_shapes(const Payload& payload, Span<const Shape> inputs,
                                            Emptiness emptiness) {
  Shapes shapes(payload, emptiness);
  const fb::XNNGraph& graph = *payload.graph;
  const std::vector<uint32_t> arguments = argument_ids(graph);
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const uint32_t id = arguments[i];
    if (!shapes.make(id, inputs[i])) {
      log_size_mismatch(i, inputs[i], shapes.declared(id));
      return Error::InvalidArgument;
    }
  }
  for (uint32_t i = 0; i < count(graph.xnodes()); ++i) {
    const fb::XNode& node = *graph.xnodes()->Get(i);
    ET_CHECK_OR_RETURN_ERROR(Step(shapes, node).run(), InvalidProgram,
                             "xnnpack payload: the operands of node %" PRIu32
                             " (%s) do not fit each other or its result",
                             i, fb::EnumNameXNodeUnion(node.xnode_union_type()));
  }
  for (uint32_t i = 0; i < count(graph.output_ids()); ++i) {
    ET_CHECK_OR_RETURN_ERROR(shapes[graph.output_ids()->Get(i)] != nullptr, InvalidProgram,
                             "xnnpack payload: output %" PRIu32 " is never computed", i);
  }
  return shapes.take();
}

Result<std::vector<Shape>> infer_shapes(const Payload& payload, Span<const Shape> inputs,
                                        Emptiness emptiness) {
  const std::vector<Shape> all = ET_UNWRAP(infer_all_shapes(payload, inputs, emptiness));
  std::vector<Shape> outputs;
  const std::vector<uint32_t> arguments = argument_ids(*payload.graph);
  for (size_t i = count(payload.graph->input_ids()); i < arguments.size(); ++i) {
    outputs.push_back(all[arguments[i]]);
  }
  return outputs;
}

}  // namespace executorch::backends::xnnpack
