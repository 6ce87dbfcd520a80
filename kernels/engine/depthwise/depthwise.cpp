// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/depthwise/depthwise.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/depthwise/row.h>
#include <executorch/kernels/engine/depthwise/window_table.h>
#include <executorch/kernels/engine/eltwise/activation.h>

namespace executorch::kernels::engine {
namespace {

size_t outputs_of(const Conv2dParams& p) { return p.groups * p.group_outputs; }
size_t taps_of(const Conv2dParams& p) { return p.kernel_height * p.kernel_width; }
size_t block_floats(const Conv2dParams& p) { return (1 + taps_of(p)) * kDepthwiseBlock; }

/// A pixel of zeros, as wide as kernels read.
size_t zero_floats(const Conv2dParams& p) {
  return round_up(p.groups, kAlignment / sizeof(float)) + kDepthwiseBlock;
}

bool is_square(const Conv2dParams& p) {
  return p.group_outputs == 1 && p.kernel_height == p.kernel_width &&
         p.stride_height == p.stride_width && p.dilation_height * p.dilation_width == 1;
}

/// One convolution: its parameters, memory and kernels.
class Work {
 public:
  Work(const Conv2dParams& params, const Conv2dCall& call, InstructionSet set)
      : p_(params),
        call_(call),
        output_(output_size(params, call.input_size)),
        table_(params, call.input_size),
        zero_(static_cast<float*>(call.scratch)),
        taps_function_(depthwise_taps_function(set)),
        activate_(activation_function(call.epilogue.activation, set)) {
    std::memset(zero_, 0, zero_floats(p_) * sizeof(float));
    if (!is_square(p_)) return;
    const size_t window = p_.kernel_height, stride = p_.stride_height;
    row_function_ = depthwise_row_function(set, window, stride);
    rows_function_ = depthwise_rows_function(set, window, stride, row_at(0, 0, 1), &rows_at_once_);
    if (rows_function_ == nullptr) rows_at_once_ = 1;
  }

  size_t rows_at_once() const { return rows_at_once_; }
  size_t height() const { return output_.height; }

  void compute_rows(size_t image, size_t y, size_t worker) const {
    const size_t rows = std::min(rows_at_once_, output_.height - y);
    if (rows_function_ != nullptr && rows == rows_at_once_) {
      rows_function_(row_at(image, y, rows));
    } else {
      for (size_t i = 0; i < rows; ++i) compute_row(image, y + i, worker);
    }
    for (size_t i = 0; i < rows; ++i) finish_row(image, y + i);
  }

 private:
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

  DepthwiseRow row_at(size_t image, size_t y, size_t rows) const {
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
    row.out = call_.output + offset_of(image, y);
    row.out_pixel_stride = call_.output_pixel_stride;
    row.out_row_stride = output_.width * call_.output_pixel_stride;
    row.clamp_min = clamp_min();
    row.clamp_max = clamp_max();
    return row;
  }

  void compute_row(size_t image, size_t y, size_t worker) const {
    if (row_function_ != nullptr) {
      row_function_(row_at(image, y, 1));
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
    row.out = call_.output + offset_of(image, y);
    row.out_pixel_stride = call_.output_pixel_stride;
    row.clamp_min = clamp_min();
    row.clamp_max = clamp_max();
    taps_function_(row);
  }

  void finish_row(size_t image, size_t y) const {
    const Epilogue& epilogue = call_.epilogue;
    const size_t at = offset_of(image, y), channels = outputs_of(p_);
    float* const out = call_.output + at;
    if (epilogue.residual != nullptr) {
      for (size_t x = 0; x < output_.width; ++x) {
        float* const point = out + x * call_.output_pixel_stride;
        const float* const residual = epilogue.residual + at + x * call_.output_pixel_stride;
        for (size_t c = 0; c < channels; ++c) {
          const float sum = point[c] + residual[c];
          const float above = sum < epilogue.clamp_min ? epilogue.clamp_min : sum;
          point[c] = above > epilogue.clamp_max ? epilogue.clamp_max : above;
        }
      }
    }
    activate_rows(activate_, out, output_.width, channels, call_.output_pixel_stride);
  }

  const Conv2dParams& p_;
  const Conv2dCall& call_;
  const ImageSize output_;
  const WindowTable table_;
  float* const zero_;
  const DepthwiseTapsFunction taps_function_;
  const MapFunction activate_;
  DepthwiseRowFunction row_function_ = nullptr, rows_function_ = nullptr;
  size_t rows_at_once_ = 1;
};

}  // namespace

size_t depthwise_packed_bytes(const Conv2dParams& params) {
  return divide_up(outputs_of(params), kDepthwiseBlock) * block_floats(params) * sizeof(float);
}

void pack_depthwise(const Conv2dParams& p, const ConvWeights& weights, float* packed) {
  const size_t outputs = outputs_of(p);
  for (size_t first = 0; first < outputs; first += kDepthwiseBlock) {
    const size_t count = std::min(kDepthwiseBlock, outputs - first);
    for (size_t c = 0; c < kDepthwiseBlock; ++c) {
      packed[c] = c < count && weights.bias != nullptr ? weights.bias[first + c] : 0;
    }
    packed += kDepthwiseBlock;
    for (size_t x = 0; x < p.kernel_width; ++x) {
      for (size_t y = 0; y < p.kernel_height; ++y, packed += kDepthwiseBlock) {
        const float* const from = weights.data + first * weights.output_stride +
                                  y * weights.y_stride + x * weights.x_stride;
        for (size_t c = 0; c < kDepthwiseBlock; ++c) {
          packed[c] = c < count ? from[c * weights.output_stride] : 0;
        }
      }
    }
  }
}

size_t depthwise_scratch_bytes(const Conv2dParams& params, ImageSize input, size_t threads) {
  return limited_sum(zero_floats(params) * sizeof(float),
                     WindowTable(params, input).bytes(threads));
}

void depthwise(const Conv2dParams& params, const Conv2dCall& call, Threads& threads,
               InstructionSet set) {
  const Work work(params, call, set);
  const size_t bands = divide_up(work.height(), work.rows_at_once());
  for_each_item(threads, call.batch * bands, [&](size_t item, size_t worker) {
    work.compute_rows(item / bands, item % bands * work.rows_at_once(), worker);
  });
}

}  // namespace executorch::kernels::engine
