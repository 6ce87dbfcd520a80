// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/depthwise/depthwise.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/depthwise/row.h>
#include <executorch/kernels/engine/depthwise/window_table.h>
#include <executorch/kernels/engine/eltwise/activation.h>
#include <executorch/kernels/engine/gemm/bf16.h>
#include <executorch/kernels/engine/scratch_size.h>

namespace executorch::kernels::engine {
namespace {

size_t outputs_of(const Conv2dParams& p) { return p.groups * p.group_outputs; }
size_t taps_of(const Conv2dParams& p) { return p.kernel_height * p.kernel_width; }
size_t block_floats(const Conv2dParams& p) {
  return (1 + taps_of(p) * p.group_inputs) * kDepthwiseBlock;
}

/// A pixel of zeros, as wide as kernels read.
size_t zero_floats(const Conv2dParams& p) {
  return round_up(p.groups * p.group_inputs, kAlignment / sizeof(float)) + kDepthwiseBlock;
}

bool is_square(const Conv2dParams& p) {
  return p.group_inputs * p.group_outputs == 1 && p.kernel_height == p.kernel_width &&
         p.stride_height == p.stride_width && p.dilation_height * p.dilation_width == 1;
}

/// A worker's output rows before they are rounded.
size_t band_floats(const Conv2dParams& p, ImageSize input) {
  const size_t row = limited_product(output_size(p, input).width, outputs_of(p));
  return round_up(limited_product(kMaxRows, row, kMaxScratch / sizeof(float)),
                  kAlignment / sizeof(float));
}

/// The bytes of pixels of zeros and of tables, in front of the bands.
size_t tables_bytes(const Conv2dParams& p, ImageSize input, size_t threads) {
  return limited_sum(zero_floats(p) * sizeof(float), WindowTable(p, input).bytes(threads));
}

/// One convolution: its parameters, memory and kernels.
class Work {
 public:
  Work(const Conv2dParams& params, const Conv2dCall& call, size_t threads, InstructionSet set,
       bool writes_pairs)
      : p_(params),
        call_(call),
        output_(output_size(params, call.input_size)),
        table_(params, call.input_size),
        zero_(static_cast<float*>(call.scratch)),
        bands_(writes_pairs ? moved(zero_, tables_bytes(params, call.input_size, threads))
                            : nullptr),
        taps_function_(p_.group_inputs == 1 ? depthwise_taps_function(set)
                                            : small_groups_function(set, p_.group_inputs)),
        activate_(activation_function(call.epilogue.activation, set)) {
    std::memset(zero_, 0, zero_floats(p_) * sizeof(float));
    if (!is_square(p_)) return;
    const size_t window = p_.kernel_height, stride = p_.stride_height;
    row_function_ = depthwise_row_function(set, window, stride);
    rows_function_ =
        depthwise_rows_function(set, window, stride, row_at(0, 0, 1, {}), &rows_at_once_);
    if (rows_function_ == nullptr) rows_at_once_ = 1;
  }

  size_t rows_at_once() const { return rows_at_once_; }
  size_t height() const { return output_.height; }

  void compute_rows(size_t image, size_t y, size_t worker) const {
    const size_t rows = std::min(rows_at_once_, output_.height - y);
    const size_t row_floats = output_.width * outputs_of(p_);
    Rows to = {call_.output + offset_of(image, y), call_.output_pixel_stride};
    if (bands_ != nullptr) {
      to = {bands_ + worker * band_floats(p_, call_.input_size), outputs_of(p_)};
    }
    if (rows_function_ != nullptr && rows == rows_at_once_) {
      rows_function_(row_at(image, y, rows, to));
    } else {
      for (size_t i = 0; i < rows; ++i) compute_row(image, y + i, worker, row_of(to, i));
    }
    for (size_t i = 0; i < rows; ++i) finish_row(image, y + i, row_of(to, i));
    if (bands_ != nullptr) {
      narrow_to_pairs(to.first, rows * row_floats, call_.output + offset_of(image, y));
    }
  }

 private:
  /// Destination of outputs: rows of pixels.
  struct Rows {
    float* first;
    size_t pixel_stride;
  };
  Rows row_of(const Rows& rows, size_t i) const {
    return {rows.first + i * output_.width * rows.pixel_stride, rows.pixel_stride};
  }

  /// Clamping follows the residual, where there is one.
  float clamp_min() const {
    return call_.epilogue.residual == nullptr ? call_.epilogue.clamp_min : -INFINITY;
  }
  float clamp_max() const {
    return call_.epilogue.residual == nullptr ? call_.epilogue.clamp_max : INFINITY;
  }

  const float* line_at(size_t image, size_t y) const {
    return call_.input + (image * call_.input_size.height + y) * call_.input_size.width *
                             call_.input_pixel_stride;
  }
  size_t offset_of(size_t image, size_t y) const {
    return (image * output_.height + y) * output_.width * call_.output_pixel_stride;
  }

  DepthwiseRow row_at(size_t image, size_t y, size_t rows, const Rows& to) const {
    DepthwiseRow row = {};
    row.channels = p_.groups;
    row.width = output_.width;
    const size_t lines = (rows - 1) * p_.stride_height + p_.kernel_height;
    for (size_t i = 0; i < std::min(lines, kMaxLines); ++i) {
      const size_t in_y = y * p_.stride_height + i - p_.pad_top;  // wraps above the image
      const bool is_inside = in_y < call_.input_size.height;
      row.line[i] = is_inside ? line_at(image, in_y) : zero_;
      row.pixel_step[i] = is_inside ? call_.input_pixel_stride : 0;
    }
    row.first_column = size_t{0} - p_.pad_left;
    row.input_width = call_.input_size.width;
    row.zero = zero_;
    row.weights = call_.packed;
    row.out = to.first;
    row.out_pixel_stride = to.pixel_stride;
    row.out_row_stride = output_.width * to.pixel_stride;
    row.clamp_min = clamp_min();
    row.clamp_max = clamp_max();
    return row;
  }

  void compute_row(size_t image, size_t y, size_t worker, const Rows& to) const {
    if (row_function_ != nullptr) {
      row_function_(row_at(image, y, 1, to));
      return;
    }
    const float** const table =
        reinterpret_cast<const float**>(zero_ + zero_floats(p_)) + worker * table_.pointers();
    table_.fill(line_at(image, 0), call_.input_pixel_stride, static_cast<const float*>(zero_), y,
                table);
    DepthwiseTaps row = {};
    row.channels = outputs_of(p_);
    row.width = output_.width;
    row.multiplier = p_.group_outputs;
    row.table = table;
    row.taps = taps_of(p_);
    row.step = table_.step();
    row.weights = call_.packed;
    row.out = to.first;
    row.out_pixel_stride = to.pixel_stride;
    row.clamp_min = clamp_min();
    row.clamp_max = clamp_max();
    taps_function_(row);
  }

  void finish_row(size_t image, size_t y, const Rows& to) const {
    const Epilogue& epilogue = call_.epilogue;
    const size_t at = offset_of(image, y), channels = outputs_of(p_);
    if (epilogue.residual != nullptr) {
      for (size_t x = 0; x < output_.width; ++x) {
        float* const point = to.first + x * to.pixel_stride;
        const float* const residual = epilogue.residual + at + x * call_.output_pixel_stride;
        for (size_t c = 0; c < channels; ++c) {
          const float sum = point[c] + residual[c];
          const float above = sum < epilogue.clamp_min ? epilogue.clamp_min : sum;
          point[c] = above > epilogue.clamp_max ? epilogue.clamp_max : above;
        }
      }
    }
    activate_rows(activate_, to.first, output_.width, channels, to.pixel_stride);
  }

  const Conv2dParams& p_;
  const Conv2dCall& call_;
  const ImageSize output_;
  const WindowTable table_;
  float* const zero_;
  float* const bands_;  ///< one for each worker; null unless outputs are pairs
  const DepthwiseTapsFunction taps_function_;
  const MapFunction activate_;
  DepthwiseRowFunction row_function_ = nullptr, rows_function_ = nullptr;
  size_t rows_at_once_ = 1;
};

/// Copies `count` numbers of a block of channels, and fills the block with zeros. The loop for a
/// whole block has a constant length.
void copy_block(const float* from, size_t stride, size_t count, float* to) {
  if (count == kDepthwiseBlock) {
    for (size_t c = 0; c < kDepthwiseBlock; ++c) to[c] = from[c * stride];
    return;
  }
  for (size_t c = 0; c < count; ++c) to[c] = from[c * stride];
  std::fill(to + count, to + kDepthwiseBlock, 0.0f);
}

}  // namespace

bool has_small_groups(const Conv2dParams& p) {
  return p.groups > 1 && p.group_inputs == p.group_outputs &&
         small_groups_function(InstructionSet::Scalar, p.group_inputs) != nullptr;
}

size_t depthwise_packed_bytes(const Conv2dParams& params) {
  return divide_up(outputs_of(params), kDepthwiseBlock) * block_floats(params) * sizeof(float);
}

void pack_depthwise(const Conv2dParams& p, const ConvWeights& weights, float* packed) {
  const size_t outputs = outputs_of(p);
  for (size_t first = 0; first < outputs; first += kDepthwiseBlock) {
    const size_t count = std::min(kDepthwiseBlock, outputs - first);
    if (weights.bias == nullptr) {
      std::fill_n(packed, kDepthwiseBlock, 0.0f);
    } else {
      copy_block(weights.bias + first, 1, count, packed);
    }
    packed += kDepthwiseBlock;
    for (size_t x = 0; x < p.kernel_width; ++x) {
      for (size_t y = 0; y < p.kernel_height; ++y) {
        const float* const from = weights.data + first * weights.output_stride +
                                  y * weights.y_stride + x * weights.x_stride;
        for (size_t i = 0; i < p.group_inputs; ++i, packed += kDepthwiseBlock) {
          copy_block(from + i * weights.input_stride, weights.output_stride, count, packed);
        }
      }
    }
  }
}

size_t depthwise_scratch_bytes(const Conv2dParams& params, ImageSize input, size_t threads,
                               bool writes_pairs) {
  const size_t tables = tables_bytes(params, input, threads);
  if (!writes_pairs) return tables;
  const size_t bands = limited_product(threads, band_floats(params, input) * sizeof(float));
  return limited_sum(tables, bands);
}

void depthwise(const Conv2dParams& params, const Conv2dCall& call, Threads& threads,
               InstructionSet set, bool writes_pairs) {
  const Work work(params, call, threads.count(), set, writes_pairs);
  const size_t bands = divide_up(work.height(), work.rows_at_once());
  for_each_item(threads, call.batch * bands, [&](size_t item, size_t worker) {
    work.compute_rows(item / bands, item % bands * work.rows_at_once(), worker);
  });
}

}  // namespace executorch::kernels::engine
