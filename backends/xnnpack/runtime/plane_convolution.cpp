// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/plane_convolution.h>

#include <string.h>

#include <algorithm>
#include <limits>
#include <new>

#include <pthreadpool.h>

#include <executorch/backends/xnnpack/runtime/plane_vectors.h>
#include <executorch/backends/xnnpack/runtime/square_window.h>
#include <executorch/runtime/executor/optional_vector.h>

namespace executorch::backends::xnnpack {

namespace fb = fb_xnnpack;
using runtime::internal::count;
using Kind = fb::XNodeUnion;

namespace {

// A thread that begins late finds less to do.
constexpr size_t kSharesOfThread = 8;

// Of more taps, or of narrower images, XNNPACK makes up for bringing channels together (measured).
constexpr size_t kMostTaps = 9;
constexpr size_t kLeastWidth = 96, kLeastSquareWidth = 40;
constexpr uint32_t kMostSpacing = 16, kMostStep = 8;
// The lanes that are read beyond the last output.
constexpr size_t kSlack = 8;

/// Of one row of outputs.
struct Taps {
  const size_t* offsets;
  const float* weights;
  size_t count;
  float bias, min, max;
};

template <int lanes, int vectors>
EXECUTORCH_INLINE void outputs(const Taps& taps, const float* in, float* out) {
  using V = typename Vector<lanes>::Type;
  V sums[vectors];
#pragma GCC unroll 4
  for (int j = 0; j < vectors; ++j) {
    sums[j] = V{} + taps.bias;
  }
  for (size_t t = 0; t < taps.count; ++t) {
    const float* from = in + taps.offsets[t];
    const float weight = taps.weights[t];
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) {
      sums[j] += weight * *reinterpret_cast<const V*>(from + j * lanes);
    }
  }
  const V min = V{} + taps.min, max = V{} + taps.max;
#pragma GCC unroll 4
  for (int j = 0; j < vectors; ++j) {
    const V above = sums[j] < min ? min : sums[j];  // NaN stays
    *reinterpret_cast<V*>(out + j * lanes) = above > max ? max : above;
  }
}

template <int lanes>
EXECUTORCH_INLINE void output_row(const Taps& taps, const float* in, float* out, size_t n) {
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    outputs<lanes, 4>(taps, in + i, out + i);
  }
  for (; i + lanes <= n; i += lanes) {
    outputs<lanes, 1>(taps, in + i, out + i);
  }
  if (i < n) {
    float last[lanes];
    outputs<lanes, 1>(taps, in + i, last);
    memcpy(out + i, last, (n - i) * sizeof(float));
  }
}

void plain_row(const Taps& taps, const float* in, float* out, size_t n) {
  output_row<4>(taps, in, out, n);
}

EXECUTORCH_WIDE void wide_row(const Taps& taps, const float* in, float* out, size_t n) {
  output_row<8>(taps, in, out, n);
}

const fb::TensorValue* value_of(const Payload& payload, uint32_t id) {
  for (const fb::XValue* value : *payload.graph->xvalues()) {
    if (tensor_of(*value).id_out() == id) {
      return value->xvalue_union_type() == fb::XValueUnion::TensorValue ? &tensor_of(*value)
                                                                        : nullptr;
    }
  }
  return nullptr;
}

bool is_float(const Payload& payload, uint32_t id, bool is_constant) {
  const fb::TensorValue* const value = value_of(payload, id);
  return value != nullptr && value->datatype() == fb::Datatype::Float32 &&
         (value->constant_buffer_idx() != 0) == is_constant;
}

bool permutes(const fb::StaticTranspose& node, const uint32_t (&order)[4]) {
  return count(node.perm()) == 4 && std::equal(order, order + 4, node.perm()->begin());
}

bool is_covered(uint32_t before, uint32_t after, uint32_t taps, uint32_t spacing, uint32_t step) {
  return taps > 0 && taps <= kMostTaps && spacing > 0 && spacing <= kMostSpacing && step > 0 &&
         step <= kMostStep && before <= (taps - 1) * spacing && after <= (taps - 1) * spacing;
}

bool is_covered(const fb::Convolution& n) {
  return n.flags() == 0 && n.group_input_channels() == 1 && n.group_output_channels() == 1 &&
         is_covered(n.padding_top(), n.padding_bottom(), n.kernel_height(), n.dilation_height(),
                    n.subsampling_height()) &&
         is_covered(n.padding_left(), n.padding_right(), n.kernel_width(), n.dilation_width(),
                    n.subsampling_width()) &&
         n.kernel_height() * n.kernel_width() <= kMostTaps;
}

/// The convolution, if the graph is a chain of the three nodes.
const fb::XNode* convolution_of(const Payload& payload) {
  const fb::XNNGraph& graph = *payload.graph;
  if (count(graph.xnodes()) != 3 || count(graph.input_ids()) != 1 ||
      count(graph.output_ids()) != 1) {
    return nullptr;
  }
  const auto& nodes = *graph.xnodes();
  if (nodes[0]->xnode_union_type() != Kind::StaticTranspose ||
      nodes[1]->xnode_union_type() != Kind::DepthwiseConv2d ||
      nodes[2]->xnode_union_type() != Kind::StaticTranspose) {
    return nullptr;
  }
  const auto& first = *static_cast<const fb::StaticTranspose*>(nodes[0]->xnode_union());
  const auto& middle = *static_cast<const fb::Convolution*>(nodes[1]->xnode_union());
  const auto& last = *static_cast<const fb::StaticTranspose*>(nodes[2]->xnode_union());
  const bool is_chain =
      first.input_id() == graph.input_ids()->Get(0) && first.output_id() == middle.input1_id() &&
      middle.output_id() == last.input_id() && last.output_id() == graph.output_ids()->Get(0);
  for (uint32_t id : {first.input_id(), first.output_id(), last.input_id(), last.output_id()}) {
    if (!is_float(payload, id, /*is_constant=*/false)) {
      return nullptr;
    }
  }
  return is_chain && permutes(first, {0, 2, 3, 1}) && permutes(last, {0, 3, 1, 2}) &&
                 is_covered(middle)
             ? nodes[1]
             : nullptr;
}

}  // namespace

std::optional<PlaneConvolution> PlaneConvolution::of(const Payload& payload,
                                                     const Constants& constants) {
  const fb::XNode* const node = convolution_of(payload);
  if (node == nullptr) {
    return std::nullopt;
  }
  const auto& n = *static_cast<const fb::Convolution*>(node->xnode_union());
  const bool has_bias = n.bias_id() != XNN_INVALID_VALUE_ID;
  if (!is_float(payload, n.filter_id(), /*is_constant=*/true) ||
      (has_bias && !is_float(payload, n.bias_id(), /*is_constant=*/true))) {
    return std::nullopt;
  }
  const fb::TensorValue& filter = *value_of(payload, n.filter_id());
  const size_t taps = size_t{n.kernel_height()} * n.kernel_width(), channels = n.groups();
  const fb::TensorValue* const bias = has_bias ? value_of(payload, n.bias_id()) : nullptr;
  if (tensor_bytes(filter) != taps * channels * sizeof(float) ||
      (has_bias && tensor_bytes(*bias) != channels * sizeof(float))) {
    return std::nullopt;
  }
  PlaneConvolution made;
  made.rows_ = {n.padding_top(), n.padding_bottom(), n.kernel_height(), n.dilation_height(),
                n.subsampling_height()};
  made.columns_ = {n.padding_left(), n.padding_right(), n.kernel_width(), n.dilation_width(),
                   n.subsampling_width()};
  made.channels_ = channels;
  const fb::OutputMinMax* const range = node->output_min_max();
  made.min_ = range == nullptr ? -std::numeric_limits<float>::infinity() : range->output_min();
  made.max_ = range == nullptr ? std::numeric_limits<float>::infinity() : range->output_max();
  made.biases_.assign(channels, 0.0f);
  if (has_bias) {
    memcpy(made.biases_.data(), constants.data(bias->constant_buffer_idx()),
           channels * sizeof(float));
  }
  made.weights_.resize(taps * channels);
  const auto* from = static_cast<const char*>(constants.data(filter.constant_buffer_idx()));
  for (size_t t = 0; t < taps; ++t) {
    for (size_t c = 0; c < channels; ++c, from += sizeof(float)) {
      memcpy(&made.weights_[c * taps + t], from, sizeof(float));
    }
  }
  return made;
}

bool PlaneConvolution::gains(const size_t* sizes) const {
  return sizes[3] >= (is_square() ? kLeastSquareWidth : kLeastWidth);
}

size_t PlaneConvolution::Axis::outputs(size_t size) const {
  const size_t padded = before + size + after;
  return (padded > extent() ? padded - extent() : 0) / step + 1;
}

PlaneConvolution::Layout PlaneConvolution::layout_of(size_t height, size_t width) const {
  Layout layout = {height, width, rows_.outputs(height), columns_.outputs(width), 0, 0, 0};
  layout.width = layout.out_columns - 1 + (columns_.extent() - 1) / columns_.step + 1;
  layout.row = layout.width * columns_.step;
  layout.size = ((layout.out_rows - 1) * rows_.step + rows_.extent()) * layout.row + kSlack;
  return layout;
}

void PlaneConvolution::place(const float* image, const Layout& layout, float* plane) const {
  const size_t height = (layout.size - kSlack) / layout.row;
  const size_t rows = std::min(layout.in_rows, height - std::min(height, rows_.before));
  const size_t step = columns_.step;
  for (size_t y = 0; y < rows; ++y) {
    const float* const from = image + y * layout.in_columns;
    float* const row = plane + (rows_.before + y) * layout.row;
    for (size_t part = 0; part < step; ++part) {
      // The first of the image's columns that is dealt to this part, and where it goes.
      const size_t first = (part + step - columns_.before % step) % step;
      const size_t at = (columns_.before + first) / step;
      if (first >= layout.in_columns || at >= layout.width) {
        continue;
      }
      const size_t n = std::min((layout.in_columns - first + step - 1) / step, layout.width - at);
      float* const to = row + part * layout.width + at;
      if (step == 1) {
        memcpy(to, from + first, n * sizeof(float));
        continue;
      }
      for (size_t i = 0; i < n; ++i) {
        to[i] = from[first + i * step];
      }
    }
  }
}

struct PlaneConvolution::Work {
  const PlaneConvolution& self;
  const Layout& layout;
  const float* in;
  float* out;
  size_t images, parts;
  const size_t* offsets;

  template <void (Work::*function)(size_t) const>
  static void run_in(void* work, size_t part) {
    (static_cast<const Work*>(work)->*function)(part);
  }

  size_t first_image(size_t part) const { return images * part / parts; }

  void run_square_part(size_t part) const {
    for (size_t i = first_image(part); i < first_image(part + 1); ++i) {
      const size_t channel = i % self.channels_;
      convolve(
          {&self.weights_[channel * SquareWindow::kTaps * SquareWindow::kTaps],
           self.biases_[channel], self.min_, self.max_},
          {in + i * layout.in_rows * layout.in_columns, layout.in_rows, layout.in_columns,
           self.rows_.before, self.columns_.before, self.planes_.get(),
           out + i * layout.out_rows * layout.out_columns, layout.out_rows, layout.out_columns});
    }
  }

  void run_part(size_t part) const {
    static const auto row = for_this_processor(wide_row, plain_row);
    float* const plane = self.planes_.get() + part * layout.size;
    const size_t taps = self.rows_.taps * self.columns_.taps;
    std::fill_n(plane, layout.size, 0.0f);
    for (size_t i = first_image(part); i < first_image(part + 1); ++i) {
      const size_t channel = i % self.channels_;
      const Taps window = {offsets,   &self.weights_[channel * taps],
                           taps,      self.biases_[channel],
                           self.min_, self.max_};
      self.place(in + i * layout.in_rows * layout.in_columns, layout, plane);
      float* to = out + i * layout.out_rows * layout.out_columns;
      for (size_t y = 0; y < layout.out_rows; ++y, to += layout.out_columns) {
        row(window, plane + y * self.rows_.step * layout.row, to, layout.out_columns);
      }
    }
  }
};

bool PlaneConvolution::is_square() const {
  const auto is_plain = [](const Axis& axis) {
    return axis.taps == SquareWindow::kTaps && axis.spacing == 1 && axis.step == 1;
  };
  return is_plain(rows_) && is_plain(columns_);
}

bool PlaneConvolution::reserve(size_t elements) {
  if (planes_size_ < elements) {
    planes_size_ = 0;
    planes_.reset(new (std::nothrow) float[elements]);
    planes_size_ = planes_ == nullptr ? 0 : elements;
  }
  return planes_size_ >= elements;
}

xnn_status PlaneConvolution::run(const float* in, const size_t* sizes, float* out,
                                 pthreadpool_t threads) {
  if (sizes[1] != channels_) {
    return xnn_status_invalid_parameter;
  }
  const Layout layout = layout_of(sizes[2], sizes[3]);
  const size_t images = sizes[0] * channels_;
  // Where there is a plane, each part has its own.
  const size_t of_thread = is_square() ? kSharesOfThread : 1;
  const size_t shares = pthreadpool_get_threads_count(threads) * of_thread;
  const size_t parts = std::min(std::max<size_t>(images, 1), shares);
  if (!reserve(is_square() ? layout.in_columns : parts * layout.size)) {
    return xnn_status_out_of_memory;
  }
  size_t offsets[kMostTaps];
  for (size_t t = 0; t < rows_.taps * columns_.taps; ++t) {
    const size_t y = t / columns_.taps * rows_.spacing, x = t % columns_.taps * columns_.spacing;
    offsets[t] = y * layout.row + x % columns_.step * layout.width + x / columns_.step;
  }
  Work work = {*this, layout, in, out, images, parts, offsets};
  if (is_square()) {
    std::fill_n(planes_.get(), layout.in_columns, 0.0f);
    pthreadpool_parallelize_1d(threads, Work::run_in<&Work::run_square_part>, &work, parts, 0);
  } else {
    pthreadpool_parallelize_1d(threads, Work::run_in<&Work::run_part>, &work, parts, 0);
  }
  return xnn_status_success;
}

}  // namespace executorch::backends::xnnpack
