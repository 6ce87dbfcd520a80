// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/conv/direct_windows.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/eltwise/activation.h>
#include <executorch/kernels/engine/gemm/division.h>
#include <executorch/kernels/engine/gemm/driver.h>

namespace executorch::kernels::engine {
namespace {

/// With more channels, finding a window's place is a negligible part of the time.
constexpr size_t kMaxChannels = 16;
/// Maximum number of floats of a padded copy.
constexpr size_t kMaxPaddedFloats = 4096;
/// Minimum number of windows of a thread's item: several tiles, so that finding their place costs
/// little.
constexpr size_t kMinItemWindows = 64;

/// Maximum number of neighboring windows whose padded copy fits kMaxPaddedFloats.
size_t max_windows(const Conv2dParams& p) {
  const size_t across = kMaxPaddedFloats / (p.kernel_height * p.group_inputs);
  return across < p.kernel_width ? 0 : (across - p.kernel_width) / p.stride_width + 1;
}

/// The pixels that neighboring windows cover along one dimension. Of `count` pixels, the first
/// `before` and the last `after` are padding; the others begin at pixel `first`.
struct Span {
  size_t first, count, before, after;

  bool is_inside() const { return before + after == 0; }
};

Span span_of(size_t window, size_t windows, size_t stride, size_t extent, size_t padding,
             size_t size) {
  const size_t begin = window * stride, count = (windows - 1) * stride + extent;
  const size_t end = begin + count;  // both count from the start of the padding
  const size_t before = begin < padding ? std::min(end, padding) - begin : 0;
  const size_t limit = padding + size;
  const size_t after = end > limit ? end - std::max(begin, limit) : 0;
  return {begin + before - padding, count, before, after};
}

/// Multiplies neighboring windows of one line of the output by the packed filters.
class WindowProduct {
 public:
  WindowProduct(const GemmTiles& tiles, const Conv2dParams& params, const Conv2dCall& call,
                bool writes_pairs, ImageSize output, MapFunction activate)
      : tiles_(tiles),
        p_(params),
        call_(call),
        writes_pairs_(writes_pairs),
        output_(output),
        activate_(activate) {}

  /// Computes `columns` columns of the output for `count` windows of a line.
  void multiply(size_t image, size_t y, size_t x, size_t count, size_t column,
                size_t columns) const {
    const ImageSize size = call_.input_size;
    const size_t pixel = p_.group_inputs;
    const Span down =
        span_of(y, 1, p_.stride_height, (p_.kernel_height - 1) * p_.dilation_height + 1, p_.pad_top,
                size.height);
    const Span across =
        span_of(x, count, p_.stride_width, p_.kernel_width, p_.pad_left, size.width);
    const float* const from = call_.input + image * size.height * size.width * pixel;
    float padded[kMaxPaddedFloats];
    Product product;
    if (down.is_inside() && across.is_inside()) {
      product.left = from + (down.first * size.width + across.first) * pixel;
      product.part_stride = p_.dilation_height * size.width * pixel * sizeof(float);
    } else {
      copy_padded(from, across, y * p_.stride_height, padded);
      product.left = padded;
      product.part_stride = across.count * pixel * sizeof(float);
    }
    product.tiles = &tiles_;
    product.rows = count;
    product.columns = columns;
    product.parts = p_.kernel_height;
    product.depth = p_.kernel_width * pixel;
    product.left_stride = p_.stride_width * pixel * sizeof(float);
    product.packed =
        call_.packed + column / tiles_.panel * panel_floats(tiles_, product.parts * product.depth);
    product.writes_pairs = writes_pairs_;
    const size_t point = (image * output_.height + y) * output_.width + x;
    const size_t at = point * call_.output_pixel_stride + product.out_floats(column);
    product.write_to(call_.output, at, call_.output_pixel_stride, call_.epilogue);
    run_product(product);
    activate_rows(activate_, product.out, count, columns, call_.output_pixel_stride);
  }

  /// Number of the `left` windows from x on to compute in one product. Windows that reach into
  /// padding are copied; windows inside the image are not, so a product has only one kind.
  size_t windows_at_once(size_t x, size_t left) const {
    const size_t end = p_.pad_left + call_.input_size.width;
    const size_t inside = end < p_.kernel_width ? 0 : (end - p_.kernel_width) / p_.stride_width + 1;
    const bool is_padded = x * p_.stride_width < p_.pad_left || x >= inside;
    return std::min({is_padded ? tiles_.rows : inside - x, max_windows(p_), left});
  }

 private:
  /// Copies the lines that windows read to consecutive memory, surrounded by zeros.
  void copy_padded(const float* image, const Span& across, size_t row, float* to) const {
    const size_t pixel = p_.group_inputs, inside = across.count - across.before - across.after;
    for (size_t tap = 0; tap < p_.kernel_height; ++tap, to += across.count * pixel) {
      const size_t y = row + tap * p_.dilation_height - p_.pad_top;  // wraps above the image
      std::memset(to, 0, across.count * pixel * sizeof(float));
      if (y < call_.input_size.height && inside != 0) {
        std::memcpy(to + across.before * pixel,
                    image + (y * call_.input_size.width + across.first) * pixel,
                    inside * pixel * sizeof(float));
      }
    }
  }

  const GemmTiles& tiles_;
  const Conv2dParams& p_;
  const Conv2dCall& call_;
  const bool writes_pairs_;
  const ImageSize output_;
  const MapFunction activate_;
};

}  // namespace

bool uses_direct_windows(const GemmTiles& tiles, const Conv2dParams& p, const Conv2dCall& call,
                         ImageSize output) {
  return p.groups == 1 && p.dilation_width == 1 && call.input_pixel_stride == p.group_inputs &&
         p.group_inputs != 0 && p.group_inputs <= kMaxChannels && output.width != 0 &&
         p.kernel_height != 0 && p.kernel_width != 0 && tiles.rows <= max_windows(p);
}

void convolve_direct_windows(const GemmTiles& tiles, const Conv2dParams& p, const Conv2dCall& call,
                             bool writes_pairs, Threads& threads) {
  const ImageSize output = output_size(p, call.input_size);
  DividedProduct divided;
  divided.images = call.batch;
  divided.rows = output.height * output.width;
  divided.columns = p.group_outputs;
  divided.depth = p.kernel_height * p.kernel_width * p.group_inputs;
  divided.row_step = output.width;
  divided.max_rows = round_up(kMinItemWindows, output.width);
  divided.activation = call.epilogue.activation;
  const Division division = divide(tiles, divided, threads.count());
  const WindowProduct windows(tiles, p, call, writes_pairs, output,
                              activation_function(call.epilogue.activation, tiles.set));
  for_each_item(threads, division.items() * call.batch, [&](size_t item, size_t) {
    size_t row = item % division.row_items * division.rows;
    item /= division.row_items;
    const size_t column = item % division.column_items * division.columns;
    const size_t columns = std::min(division.columns, p.group_outputs - column);
    const size_t end = std::min(row + division.rows, divided.rows);
    for (size_t count = 0; row < end; row += count) {
      const size_t y = row / output.width, x = row % output.width;
      count = windows.windows_at_once(x, std::min(output.width - x, end - row));
      windows.multiply(item / division.column_items, y, x, count, column, columns);
    }
  });
}

}  // namespace executorch::kernels::engine
