// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/qdepthwise/qdepthwise.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/depthwise/window_table.h>
#include <executorch/kernels/engine/qdepthwise/row.h>

namespace executorch::kernels::engine {
namespace {

/// The sizes of a row, without its pointers.
QDepthwiseRow row_of(const Conv2dParams& p, const QDepthwiseKernel& kernel) {
  QDepthwiseRow row = {};
  row.layout = kernel.layout;
  row.channels = p.groups * p.group_outputs;
  row.group = p.group_inputs;
  row.kernel_height = p.kernel_height;
  row.kernel_width = p.kernel_width;
  return row;
}

/// Bytes of a pixel of padding.
size_t zero_bytes(const Conv2dParams& p) { return round_up(p.groups * p.group_inputs, kAlignment); }

/// Writes a weight in `bytes` bytes (1 or 2) and returns the place of the next one.
int8_t* put_weight(int8_t weight, size_t bytes, int8_t* to) {
  if (bytes == sizeof(int8_t)) {
    *to = weight;
  } else {
    const int16_t extended = weight;
    std::memcpy(to, &extended, sizeof(extended));
  }
  return to + bytes;
}

/// Calls compute(row, offset of its first result, image) for each row of results. zero_of(image)
/// returns the value that pads an image.
template <class Call, class Zero, class Compute>
void for_each_output_row(const Conv2dParams& p, const QDepthwiseKernel& kernel, const Call& call,
                         Threads& threads, Zero&& zero_of, Compute&& compute) {
  const WindowTable windows(p, call.input_size);
  const ImageSize output = output_size(p, call.input_size);
  auto* const zeros = static_cast<int8_t*>(call.scratch);
  for (size_t image = 0; image < call.batch; ++image) {
    std::memset(zeros + image * zero_bytes(p), zero_of(image), zero_bytes(p));
  }
  auto* const tables = reinterpret_cast<const int8_t**>(zeros + call.batch * zero_bytes(p));
  QDepthwiseRow row = row_of(p, kernel);
  row.width = output.width;
  row.step = windows.step();
  row.packed = static_cast<const int8_t*>(call.packed);
  const size_t image_bytes =
      call.input_size.height * call.input_size.width * call.input_pixel_stride;
  for_each_item(threads, call.batch * output.height, [&](size_t item, size_t worker) {
    const size_t image = item / output.height;
    const int8_t** const table = tables + worker * windows.pointers();
    windows.fill(call.input + image * image_bytes, call.input_pixel_stride,
                 static_cast<const int8_t*>(zeros + image * zero_bytes(p)), item % output.height,
                 table);
    QDepthwiseRow current = row;
    current.table = table;
    compute(current, item * output.width * call.output_pixel_stride, image);
  });
}

/// True for groups of 4, 8, … `most` channels.
bool is_small_group(size_t channels, size_t most) {
  return channels >= 4 && channels <= most && (channels & (channels - 1)) == 0;
}

/// The kernel of the highest set in kernels.inc up to `set`; null for other convolutions than those
/// of this family.
const QDepthwiseKernel* kernel_of(const Conv2dParams& p, InstructionSet set) {
  if (p.groups == 1 || p.group_inputs != p.group_outputs || p.transposed) return nullptr;
  const QDepthwiseKernel* best = nullptr;
#define ET_QDEPTHWISE_KERNEL(function, lowest) \
  if (set >= InstructionSet::lowest && p.group_inputs == 1) best = &function();
#define ET_QSMALL_GROUPS_KERNEL(function, lowest, channels) \
  if (set >= InstructionSet::lowest && is_small_group(p.group_inputs, channels)) best = &function();
#include <executorch/kernels/engine/qdepthwise/kernels.inc>
#undef ET_QSMALL_GROUPS_KERNEL
#undef ET_QDEPTHWISE_KERNEL
  return best;
}

}  // namespace

bool is_qdepthwise(const Conv2dParams& p, InstructionSet set) {
  return kernel_of(p, set) != nullptr;
}

uint32_t qdepthwise_layout(const Conv2dParams& params, InstructionSet set) {
  const QDepthwiseLayout& layout = kernel_of(params, set)->layout;
  return uint32_t(layout.lanes) << 8 | uint32_t(layout.taps) << 4 |
         uint32_t(layout.step_taps(params.kernel_height));
}

size_t qdepthwise_packed_bytes(const Conv2dParams& params, InstructionSet set) {
  const QDepthwiseRow row = row_of(params, *kernel_of(params, set));
  return divide_up(row.channels, row.layout.block()) * row.block_bytes();
}

void pack_qdepthwise(const Conv2dParams& p, const QConvWeights& w, const QColumns& columns,
                     void* packed, InstructionSet set) {
  const QDepthwiseRow row = row_of(p, *kernel_of(p, set));
  const QDepthwiseLayout& layout = row.layout;
  auto* block = static_cast<int8_t*>(packed);
  for (size_t first = 0; first < row.channels;
       first += layout.block(), block += row.block_bytes()) {
    auto* const sums = reinterpret_cast<uint32_t*>(block);
    auto* const floats = reinterpret_cast<float*>(block + row.scales_at());
    for (size_t place = 0; place < layout.block(); ++place) {
      const size_t output = first + layout.channel_at(place);
      if (output >= row.channels) continue;
      const int8_t* const from = w.data + output * w.output_stride;
      uint32_t sum = 0;
      for (size_t step = 0; step < row.steps(); ++step) {
        int8_t* to =
            block + row.sums_bytes() + step * layout.step_bytes() + place * sizeof(int32_t);
        const size_t end = std::min((step + 1) * row.step_taps(), row.factors());
        for (size_t factor = step * row.step_taps(); factor < end; ++factor) {
          const size_t tap = factor / row.group;
          const int8_t weight =
              from[tap % p.kernel_height * w.y_stride + tap / p.kernel_height * w.x_stride +
                   factor % row.group * w.input_stride];
          to = put_weight(weight, layout.weight_bytes(), to);
          sum += uint32_t(int32_t(weight));
        }
      }
      sums[place] = columns.first_sum(output, sum, layout.offset);
      floats[place] = columns.scales[output];
      if (columns.float_bias != nullptr) {
        floats[layout.block() + place] = columns.float_bias[output];
      }
    }
  }
}

size_t qdepthwise_scratch_bytes(const Conv2dParams& params, size_t batch, ImageSize input,
                                size_t threads) {
  return limited_sum(batch * zero_bytes(params), WindowTable(params, input).bytes(threads));
}

void qdepthwise(const Conv2dParams& params, const QConv2dCall& call, Threads& threads,
                InstructionSet set) {
  const QDepthwiseKernel& kernel = *kernel_of(params, set);
  for_each_output_row(
      params, kernel, call, threads, [&](size_t) { return int8_t(call.input_zero_point); },
      [&](const QDepthwiseRow& row, size_t to, size_t) {
        kernel.to_bytes(row, call.output + to, call.output_pixel_stride, call.to);
      });
}

void dynamic_qdepthwise(const Conv2dParams& params, const DynamicQConv2dCall& call,
                        Threads& threads, InstructionSet set) {
  const QDepthwiseKernel& kernel = *kernel_of(params, set);
  for_each_output_row(
      params, kernel, call, threads,
      [&](size_t image) { return int8_t(call.parameters[image].zero_point); },
      [&](const QDepthwiseRow& row, size_t to, size_t image) {
        const QDynamic how = {call.parameters + image, 0, call.clamp_min, call.clamp_max};
        kernel.to_floats(row, call.output + to, call.output_pixel_stride, how);
      });
}

}  // namespace executorch::kernels::engine
