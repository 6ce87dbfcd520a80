// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/qgemm/qconv.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/conv/indirection.h>
#include <executorch/kernels/engine/qdepthwise/qdepthwise.h>
#include <executorch/kernels/engine/qgemm/division.h>
#include <executorch/kernels/engine/qgemm/tiles.h>
#include <executorch/kernels/engine/qwinograd/qwinograd.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {
namespace {

/// Pointers of a worker's indirection buffer.
constexpr size_t kPointers = size_t{8} << 10;

/// With fewer channels, products of single pixels would be mostly padding.
constexpr size_t kMaxJoinedInputs = 8;

/// True if a window's row is read as one run of bytes from a padded copy of the image.
bool joins_columns(const Conv2dParams& p) {
  return p.groups == 1 && p.dilation_width == 1 && p.kernel_width > 1 &&
         p.group_inputs <= kMaxJoinedInputs;
}

/// A window as its product sees it.
struct WindowParts {
  size_t count, depth;
};
WindowParts parts_of(const Conv2dParams& p) {
  if (joins_columns(p)) return {p.kernel_height, p.kernel_width * p.group_inputs};
  return {p.kernel_height * p.kernel_width, p.group_inputs};
}

/// Pixels of padding: one an image, because dynamic images have zero points of their own.
size_t zero_bytes(const Conv2dParams& p) { return round_up(p.group_inputs, kAlignment); }

ImageSize padded_size(const Conv2dParams& p, ImageSize input) {
  return {input.height + p.pad_top + p.pad_bottom, input.width + p.pad_left + p.pad_right};
}
/// The size of the padded copy of an image; 0 without a copy.
size_t padded_bytes(const Conv2dParams& p, ImageSize input) {
  const ImageSize padded = padded_size(p, input);
  if (!joins_columns(p)) return 0;
  return round_up(padded.height * padded.width * p.group_inputs + kReadBeyond, kAlignment);
}

/// Copies a row of an image, `zero` at both ends.
void pad_row(const Conv2dParams& p, const int8_t* from, size_t width, size_t pixel_stride,
             int8_t zero, int8_t* to) {
  const size_t inputs = p.group_inputs;
  std::memset(to, zero, p.pad_left * inputs);
  to += p.pad_left * inputs;
  if (pixel_stride == inputs) {
    std::memcpy(to, from, width * inputs);
  } else {
    for (size_t x = 0; x < width; ++x)
      std::memcpy(to + x * inputs, from + x * pixel_stride, inputs);
  }
  std::memset(to + width * inputs, zero, p.pad_right * inputs);
}

/// Copies images with their padding. zero_of: the padding of an image.
template <class Call, class Zero>
void pad_images(const Conv2dParams& p, const Call& call, Threads& threads, Zero&& zero_of,
                int8_t* to) {
  const ImageSize in = call.input_size, padded = padded_size(p, in);
  const size_t row_bytes = padded.width * p.group_inputs, image_bytes = padded_bytes(p, in);
  for_each_rows(threads, call.batch * padded.height, row_bytes, [&](size_t first, size_t count) {
    for (size_t row = first; row < first + count; ++row) {
      const size_t image = row / padded.height, y = row % padded.height - p.pad_top;  // wraps
      int8_t* const at = to + image * image_bytes + row % padded.height * row_bytes;
      const int8_t zero = zero_of(image);
      if (y >= in.height) {
        std::memset(at, zero, row_bytes);
      } else {
        const size_t line = (image * in.height + y) * in.width * call.input_pixel_stride;
        pad_row(p, call.input + line, in.width, call.input_pixel_stride, zero, at);
      }
    }
  });
}

/// Rows of the product are pixels of the image, one after the other.
bool is_pointwise(const Conv2dParams& p) {
  return p.kernel_height * p.kernel_width == 1 && p.stride_height == 1 && p.stride_width == 1 &&
         p.pad_top + p.pad_left + p.pad_bottom + p.pad_right == 0;
}

/// Points of an item, so that their pointers fit the buffer.
size_t max_points(const QGemmTiles& tiles, const Conv2dParams& p) {
  const size_t groups = kPointers / std::max(parts_of(p).count, size_t{1}) / tiles.rows;
  return std::max(groups, size_t{1}) * tiles.rows;
}

size_t worker_pointers(const QGemmTiles& tiles, const Conv2dParams& p, size_t points) {
  if (is_pointwise(p)) return 0;
  const size_t rows = round_up(std::min(points, max_points(tiles, p)), tiles.rows);
  return round_up(rows * parts_of(p).count, kAlignment / sizeof(int8_t*));
}

QPanelWeights weights_at(const Conv2dParams& p, const QConvWeights& w, size_t output,
                         size_t columns) {
  QPanelWeights weights = {};
  weights.data = w.data + output * w.output_stride;
  weights.parts = parts_of(p).count;
  weights.depth = parts_of(p).depth;
  weights.part_stride[0] = w.y_stride;
  weights.part_stride[1] = w.x_stride;
  weights.parts_across = joins_columns(p) ? 1 : p.kernel_width;
  weights.run = p.group_inputs;
  weights.run_stride = w.x_stride;
  weights.depth_stride = w.input_stride;
  weights.column_stride = w.output_stride;
  weights.columns = columns;
  return weights;
}

/// The images from which windows are read: the input, or its padded copy.
struct WindowSource {
  Conv2dParams params;  ///< of the windows' parts
  const int8_t* images;
  size_t pixel_stride, image_bytes;
  ImageSize size;
};

template <class Call>
WindowSource source_of(const Conv2dParams& p, const Call& call, const int8_t* padded) {
  if (!joins_columns(p)) {
    return {p, call.input, call.input_pixel_stride,
            call.input_size.height * call.input_size.width * call.input_pixel_stride,
            call.input_size};
  }
  Conv2dParams rows = p;
  rows.kernel_width = 1;
  rows.pad_top = rows.pad_left = rows.pad_bottom = rows.pad_right = 0;
  return {rows, padded, p.group_inputs, padded_bytes(p, call.input_size),
          padded_size(p, call.input_size)};
}

/// Calls tile(left, packed, columns, offset of the first result, image) for the tiles of a
/// convolution. zero_of: the padding of an image.
template <class Call, class Zero, class Tile>
void convolve(const QGemmTiles& tiles, const Conv2dParams& p, const Call& call, Threads& threads,
              Zero&& zero_of, Tile&& tile) {
  auto* const zeros = static_cast<int8_t*>(call.scratch);
  for (size_t image = 0; image < call.batch; ++image) {
    std::memset(zeros + image * zero_bytes(p), zero_of(image), zero_bytes(p));
  }
  int8_t* const padded = zeros + call.batch * zero_bytes(p);
  if (joins_columns(p)) pad_images(p, call, threads, zero_of, padded);
  auto* const tables =
      reinterpret_cast<const int8_t**>(padded + call.batch * padded_bytes(p, call.input_size));
  const WindowSource source = source_of(p, call, padded);
  const WindowParts parts = parts_of(p);
  const ImageSize output = output_size(p, call.input_size);
  const size_t points = output.height * output.width;
  const QDivision division =
      divide(tiles, call.batch * p.groups, points, p.group_outputs, parts.count * parts.depth,
             threads.count(), is_pointwise(p) ? points : max_points(tiles, p));
  const size_t pointers = worker_pointers(tiles, p, points);
  const size_t panels = divide_up(p.group_outputs, tiles.panel);
  const size_t panel_bytes = tiles.panel_bytes(parts.count, parts.depth);
  for_each_item(threads, division.items(), [&](size_t item, size_t worker) {
    const QItem at = division.at(item, points, p.group_outputs);
    const size_t group = at.product % p.groups, image = at.product / p.groups;
    const int8_t** const table = is_pointwise(p) ? nullptr : tables + worker * pointers;
    QLeftRows left;
    left.offset = image * source.image_bytes + group * p.group_inputs;
    left.stride = source.pixel_stride;
    if (table != nullptr) {
      fill_indirection<int8_t>(source.params,
                               {source.images, source.pixel_stride, source.size, output, zeros},
                               at.row, at.rows, tiles.rows, table);
      left.table_rows = tiles.rows;
      left.zero = zeros;
      left.zero_data = zeros + image * zero_bytes(p);
    }
    left.parts = parts.count;
    left.depth = parts.depth;
    left.may_read_beyond = joins_columns(p);
    const int8_t* const packed = static_cast<const int8_t*>(call.packed) +
                                 (group * panels + at.column / tiles.panel) * panel_bytes;
    QAhead ahead;
    ahead.panels = panels_after(at, points, p.group_outputs, packed, tiles.panel, panel_bytes);
    left.ahead = &ahead;
    for (size_t row = 0; row < at.rows; row += tiles.rows) {
      left.count = std::min(tiles.rows, at.rows - row);
      if (table != nullptr) {
        left.table = table + row * parts.count;
      } else {
        left.first = source.images + left.offset + (at.row + row) * left.stride;
      }
      ahead.rows = left.rows_after(points - at.row - row);
      const size_t to = (image * points + at.row + row) * call.output_pixel_stride +
                        group * p.group_outputs + at.column;
      tile(left, packed, at.columns, to, image);
    }
  });
}

}  // namespace

QConv2d QConv2d::plan(const Conv2dParams& params, InstructionSet set) {
  QConv2d conv;
  conv.params_ = params;
  conv.tiles_ = &qgemm_tiles(set);
  conv.set_ = set;
  return conv;
}

bool QConv2d::adds() const { return !is_qdepthwise(params_, set_); }

uint32_t QConv2d::layout() const {
  constexpr uint32_t kJoined = uint32_t{1} << 15, kDepthwise = uint32_t{1} << 14;
  if (is_qdepthwise(params_, set_)) return kDepthwise | qdepthwise_layout(params_, set_);
  return layout_of(*tiles_) | (joins_columns(params_) ? kJoined : 0);
}

size_t QConv2d::packed_bytes() const {
  if (is_qdepthwise(params_, set_))
    return round_up(qdepthwise_packed_bytes(params_, set_), kAlignment);
  const size_t panels = params_.groups * divide_up(params_.group_outputs, tiles_->panel);
  return round_up(panels * tiles_->panel_bytes(parts_of(params_).count, parts_of(params_).depth),
                  kAlignment);
}

void QConv2d::pack(const QConvWeights& weights, const QColumns& columns, void* packed) const {
  std::memset(packed, 0, packed_bytes());
  if (is_qdepthwise(params_, set_)) return pack_qdepthwise(params_, weights, columns, packed, set_);
  auto* to = static_cast<int8_t*>(packed);
  for (size_t group = 0; group < params_.groups; ++group) {
    for (size_t c = 0; c < params_.group_outputs; c += tiles_->panel) {
      const size_t output = group * params_.group_outputs + c;
      const size_t count = std::min(tiles_->panel, params_.group_outputs - c);
      pack_qpanel(*tiles_, weights_at(params_, weights, output, count), columns, output, to);
      to += tiles_->panel_bytes(parts_of(params_).count, parts_of(params_).depth);
    }
  }
}

template <class Depthwise, class Winograd, class Product>
auto QConv2d::by_algorithm(size_t batch, ImageSize input, const Depthwise& depthwise,
                           const Winograd& winograd, const Product& product) const {
  if (is_qdepthwise(params_, set_)) return depthwise();
  if constexpr (kHasQWinograd) {
    if (qwinograd_gains(*tiles_, params_, batch, input)) return winograd();
  }
  return product();
}

size_t QConv2d::scratch_bytes(size_t batch, ImageSize input, size_t threads) const {
  return by_algorithm(
      batch, input, [&] { return qdepthwise_scratch_bytes(params_, batch, input, threads); },
      [&] { return qwinograd_scratch_bytes(params_, batch, input, threads); },
      [&] {
        const ImageSize output = output_size(params_, input);
        return batch * (zero_bytes(params_) + padded_bytes(params_, input)) +
               threads * worker_pointers(*tiles_, params_, output.height * output.width) *
                   sizeof(int8_t*);
      });
}

void QConv2d::run(const QConv2dCall& call, Threads& threads) const {
  by_algorithm(
      call.batch, call.input_size, [&] { qdepthwise(params_, call, threads, set_); },
      [&] { qwinograd(params_, call, threads); }, [&] { multiply(call, threads); });
}

void QConv2d::run_dynamic(const DynamicQConv2dCall& call, Threads& threads) const {
  by_algorithm(
      call.batch, call.input_size, [&] { dynamic_qdepthwise(params_, call, threads, set_); },
      [&] { dynamic_qwinograd(params_, call, threads); }, [&] { multiply(call, threads); });
}

void QConv2d::multiply(const QConv2dCall& call, Threads& threads) const {
  const AddResidual add = residual_kernel(set_);
  convolve(
      *tiles_, params_, call, threads, [&](size_t) { return int8_t(call.input_zero_point); },
      [&](const QLeftRows& left, const int8_t* packed, size_t columns, size_t to, size_t) {
        tiles_->to_bytes(left, packed, columns, call.output + to, call.output_pixel_stride,
                         call.to);
        if (call.residual != nullptr) {
          add({&call.sum, call.residual + to, call.output_pixel_stride}, left.count, columns,
              call.output + to, call.output_pixel_stride);
        }
      });
}

void QConv2d::multiply(const DynamicQConv2dCall& call, Threads& threads) const {
  convolve(
      *tiles_, params_, call, threads,
      [&](size_t image) { return int8_t(call.parameters[image].zero_point); },
      [&](const QLeftRows& left, const int8_t* packed, size_t columns, size_t to, size_t image) {
        const QDynamic how = {call.parameters + image, 0, call.clamp_min, call.clamp_max};
        tiles_->to_floats(left, packed, columns, call.output + to, call.output_pixel_stride, how);
      });
}

}  // namespace executorch::kernels::engine
