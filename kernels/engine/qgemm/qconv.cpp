// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/qconv.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/conv/indirection.h>
#include <executorch/kernels/engine/qgemm/division.h>
#include <executorch/kernels/engine/qgemm/tiles.h>

namespace executorch::kernels::engine {
namespace {

/// Pointers of a worker's indirection buffer.
constexpr size_t kPointers = size_t{8} << 10;

size_t taps_of(const Conv2dParams& p) { return p.kernel_height * p.kernel_width; }

/// Pixels of padding: one an image, because dynamic images have zero points of their own.
size_t zero_bytes(const Conv2dParams& p) { return round_up(p.group_inputs, kAlignment); }

/// Rows of the product are pixels of the image, one after the other.
bool is_pointwise(const Conv2dParams& p) {
  return taps_of(p) == 1 && p.stride_height == 1 && p.stride_width == 1 &&
         p.pad_top + p.pad_left + p.pad_bottom + p.pad_right == 0;
}

/// Points of an item, so that their pointers fit the buffer.
size_t max_points(const QGemmTiles& tiles, const Conv2dParams& p) {
  const size_t groups = kPointers / std::max(taps_of(p), size_t{1}) / tiles.rows;
  return std::max(groups, size_t{1}) * tiles.rows;
}

size_t worker_pointers(const QGemmTiles& tiles, const Conv2dParams& p, size_t points) {
  if (is_pointwise(p)) return 0;
  const size_t rows = round_up(std::min(points, max_points(tiles, p)), tiles.rows);
  return round_up(rows * taps_of(p), kAlignment / sizeof(int8_t*));
}

QPanelWeights weights_at(const Conv2dParams& p, const QConvWeights& w, size_t output,
                         size_t columns) {
  return {w.data + output * w.output_stride,
          {w.y_stride, w.x_stride},
          p.kernel_width,
          w.input_stride,
          w.output_stride,
          taps_of(p),
          p.group_inputs,
          columns};
}

/// Calls f(first output, outputs, packed panel) for each panel of each group.
template <class F>
void for_each_panel(const QGemmTiles& tiles, const Conv2dParams& p, int8_t* packed, F&& f) {
  for (size_t group = 0; group < p.groups; ++group) {
    for (size_t c = 0; c < p.group_outputs; c += tiles.panel) {
      f(group * p.group_outputs + c, std::min(tiles.panel, p.group_outputs - c), packed);
      packed += tiles.panel_bytes(taps_of(p), p.group_inputs);
    }
  }
}

/// Calls tile(left, packed, columns, offset of the first result, image) for the tiles of a
/// convolution. `zeros` has a pixel of padding for each image, or one for all.
template <class Call, class Tile>
void convolve(const QGemmTiles& tiles, const Conv2dParams& p, const Call& call, bool has_zeros_each,
              Threads& threads, Tile&& tile) {
  const ImageSize output = output_size(p, call.input_size);
  const size_t points = output.height * output.width;
  const QDivision division =
      divide(tiles, call.batch * p.groups, points, p.group_outputs, taps_of(p) * p.group_inputs,
             threads.count(), is_pointwise(p) ? points : max_points(tiles, p));
  const auto* const zeros = static_cast<const int8_t*>(call.scratch);
  auto* const tables = reinterpret_cast<const int8_t**>(static_cast<int8_t*>(call.scratch) +
                                                        call.batch * zero_bytes(p));
  const size_t pointers = worker_pointers(tiles, p, points);
  const size_t image_bytes =
      call.input_size.height * call.input_size.width * call.input_pixel_stride;
  const size_t panels = divide_up(p.group_outputs, tiles.panel);
  const size_t panel_bytes = tiles.panel_bytes(taps_of(p), p.group_inputs);
  for_each_item(threads, division.items(), [&](size_t item, size_t worker) {
    const QItem at = division.at(item, points, p.group_outputs);
    const size_t group = at.product % p.groups, image = at.product / p.groups;
    const int8_t** const table = is_pointwise(p) ? nullptr : tables + worker * pointers;
    QLeftRows left;
    left.offset = image * image_bytes + group * p.group_inputs;
    left.stride = call.input_pixel_stride;
    if (table != nullptr) {
      fill_indirection<int8_t>(
          p, {call.input, call.input_pixel_stride, call.input_size, output, zeros}, at.row, at.rows,
          tiles.rows, table);
      left.table_rows = tiles.rows;
      left.zero = zeros;
      left.zero_data = zeros + (has_zeros_each ? image * zero_bytes(p) : 0);
    }
    left.parts = taps_of(p);
    left.depth = p.group_inputs;
    const int8_t* const packed = static_cast<const int8_t*>(call.packed) +
                                 (group * panels + at.column / tiles.panel) * panel_bytes;
    for (size_t row = 0; row < at.rows; row += tiles.rows) {
      left.count = std::min(tiles.rows, at.rows - row);
      if (table != nullptr) {
        left.table = table + row * taps_of(p);
      } else {
        left.first = call.input + left.offset + (at.row + row) * left.stride;
      }
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
  return conv;
}

uint32_t QConv2d::layout() const { return layout_of(*tiles_); }

size_t QConv2d::packed_bytes() const {
  const size_t panels = params_.groups * divide_up(params_.group_outputs, tiles_->panel);
  return round_up(panels * tiles_->panel_bytes(taps_of(params_), params_.group_inputs), kAlignment);
}

void QConv2d::pack(const QConvWeights& weights, int32_t input_zero_point, const float* scales,
                   const int32_t* bias, void* packed) const {
  std::memset(packed, 0, packed_bytes());
  for_each_panel(*tiles_, params_, static_cast<int8_t*>(packed),
                 [&](size_t output, size_t columns, int8_t* to) {
                   pack_qpanel(*tiles_, weights_at(params_, weights, output, columns),
                               input_zero_point, scales + output,
                               bias == nullptr ? nullptr : bias + output, to);
                 });
}

void QConv2d::pack_dynamic(const QConvWeights& weights, const float* scales, const float* bias,
                           void* packed) const {
  std::memset(packed, 0, packed_bytes());
  for_each_panel(*tiles_, params_, static_cast<int8_t*>(packed),
                 [&](size_t output, size_t columns, int8_t* to) {
                   pack_dynamic_qpanel(*tiles_, weights_at(params_, weights, output, columns),
                                       scales + output, bias == nullptr ? nullptr : bias + output,
                                       to);
                 });
}

size_t QConv2d::scratch_bytes(size_t batch, ImageSize input, size_t threads) const {
  const ImageSize output = output_size(params_, input);
  return batch * zero_bytes(params_) +
         threads * worker_pointers(*tiles_, params_, output.height * output.width) *
             sizeof(int8_t*);
}

void QConv2d::run(const QConv2dCall& call, Threads& threads) const {
  if (call.batch == 0) return;
  std::memset(call.scratch, int8_t(call.input_zero_point), zero_bytes(params_));
  convolve(*tiles_, params_, call, /*has_zeros_each=*/false, threads,
           [&](const QLeftRows& left, const int8_t* packed, size_t columns, size_t to, size_t) {
             tiles_->to_bytes(left, packed, columns, call.output + to, call.output_pixel_stride,
                              call.to);
           });
}

void QConv2d::run_dynamic(const DynamicQConv2dCall& call, Threads& threads) const {
  for (size_t image = 0; image < call.batch; ++image) {
    std::memset(static_cast<int8_t*>(call.scratch) + image * zero_bytes(params_),
                int8_t(call.zero_points[image]), zero_bytes(params_));
  }
  convolve(
      *tiles_, params_, call, /*has_zeros_each=*/true, threads,
      [&](const QLeftRows& left, const int8_t* packed, size_t columns, size_t to, size_t image) {
        const QDynamic how = {call.zero_points + image, call.image_scales + image, 0,
                              call.clamp_min, call.clamp_max};
        tiles_->to_floats(left, packed, columns, call.output + to, call.output_pixel_stride, how);
      });
}

}  // namespace executorch::kernels::engine
