// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/qgemm/int4_gemm.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/gemm/gemm.h>
#include <executorch/kernels/engine/qgemm/int4_tiles.h>

namespace executorch::kernels::engine {
namespace {

// Work items for each thread, so that threads that finish early take more.
constexpr size_t kItemsOfThread = 4;
// Zero point of 4-bit weights.
constexpr int32_t kZeroPoint = 8;

float from_bfloat16(uint16_t bits) {
  const uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

size_t scale_bytes(bool has_column_scales) {
  return has_column_scales ? sizeof(float) : sizeof(uint16_t);
}

size_t panel_bytes(size_t depth, size_t groups, bool has_column_scales) {
  return kInt4Panel * (depth / 2 + groups * scale_bytes(has_column_scales) + 2 * sizeof(float));
}

/// Packs a block of a column: 4 of 8 elements are the low nibbles of 4 bytes, the others the high
/// nibbles. Returns the sum of the nibbles.
int32_t pack_block(const uint8_t* from, size_t column, uint8_t* to) {
  int32_t sum = 0;
  uint8_t* at = to + column / 8 * 32 + column % 8 * 4;
  for (size_t i = 0; i < kInt4Block / 8; ++i, from += 4, at += 64) {
    for (size_t pair = 0; pair < 2; ++pair) {
      const uint8_t low = from[pair], high = from[pair + 2];
      at[2 * pair] = uint8_t((low & 15) | high << 4);
      at[2 * pair + 1] = uint8_t(low >> 4 | (high & 0xF0));
      sum += (low & 15) + (low >> 4) + (high & 15) + (high >> 4);
    }
  }
  return sum;
}

}  // namespace

bool Int4Gemm::is_available(size_t depth, size_t group, InstructionSet set) {
#if defined(__x86_64__)
  return set >= InstructionSet::Avx2 && depth > 0 && group > 0 && group % kDepthMultiple == 0 &&
         depth % group == 0;
#else
  (void)depth, (void)group, (void)set;
  return false;
#endif
}

Int4Gemm Int4Gemm::plan(size_t columns, size_t depth, size_t group, bool has_column_scales,
                        InstructionSet set) {
  Int4Gemm gemm;
#if defined(__x86_64__)
  gemm.tiles_ = set >= InstructionSet::Avx512Vnni ? &kInt4TilesVnni : &kInt4TilesAvx2;
#else
  (void)set;
#endif
  gemm.columns_ = columns;
  gemm.depth_ = depth;
  gemm.group_ = group;
  gemm.groups_ = depth / group;
  gemm.has_column_scales_ = has_column_scales;
  return gemm;
}

uint32_t Int4Gemm::layout() const {
  constexpr uint32_t kInt4 = uint32_t{1} << 31;
  return kInt4 | uint32_t(has_column_scales_) << 30 | uint32_t(kInt4Panel) << 24 |
         uint32_t(groups_ & 0xFFFFFF);
}

size_t Int4Gemm::packed_bytes() const {
  return round_up(
      divide_up(columns_, kInt4Panel) * panel_bytes(depth_, groups_, has_column_scales_),
      kAlignment);
}

void Int4Gemm::pack(const Int4Weights& weights, const float* bias, void* packed) const {
  std::memset(packed, 0, packed_bytes());
  auto* panel = static_cast<uint8_t*>(packed);
  const size_t block_bytes = kInt4Block * kInt4Panel / 2;
  const size_t group_bytes =
      group_ / kInt4Block * block_bytes + kInt4Panel * scale_bytes(has_column_scales_);
  for (size_t first = 0; first < columns_; first += kInt4Panel) {
    const size_t panel_size = panel_bytes(depth_, groups_, has_column_scales_);
    auto* const tail =
        reinterpret_cast<float*>(panel + panel_size - 2 * kInt4Panel * sizeof(float));
    for (size_t c = 0; c < std::min(kInt4Panel, columns_ - first); ++c) {
      const size_t column = first + c;
      const uint8_t* const nibbles = weights.nibbles + column * depth_ / 2;
      double offset = 0;
      for (size_t g = 0; g < groups_; ++g) {
        uint8_t* const to = panel + g * group_bytes;
        int32_t sum = -kZeroPoint * int32_t(group_);
        for (size_t d = 0; d < group_; d += kInt4Block) {
          sum += pack_block(nibbles + (g * group_ + d) / 2, c, to + d / kInt4Block * block_bytes);
        }
        uint8_t* const scales = to + group_ / kInt4Block * block_bytes;
        float scale;
        if (has_column_scales_) {
          scale = weights.column_scales[column];
          std::memcpy(scales + c * sizeof(scale), &scale, sizeof(scale));
        } else {
          const uint16_t bits = weights.group_scales[column * groups_ + g];
          scale = from_bfloat16(bits);
          std::memcpy(scales + c * sizeof(bits), &bits, sizeof(bits));
        }
        offset += double(sum) * scale;
      }
      tail[c] = float(offset);
      tail[kInt4Panel + c] = bias == nullptr ? 0 : bias[column];
    }
    panel += panel_size;
  }
}

size_t Int4Gemm::scratch_bytes(size_t rows) const {
  return round_up(rows * groups_ * sizeof(int32_t), kAlignment);
}

void Int4Gemm::run(const DynamicQGemmCall& call, void* scratch, Threads& threads) const {
#if defined(__x86_64__)
  auto* const sums = static_cast<int32_t*>(scratch);
  for_each_rows(threads, call.rows, depth_, [&](size_t first, size_t count) {
    for (size_t r = first; r < first + count; ++r) {
      int4_group_sums_avx2(call.left + r * call.left_stride, group_, groups_, sums + r * groups_);
    }
  });
  const size_t panels = divide_up(columns_, kInt4Panel);
  const size_t wanted = threads.count() == 1 ? 1 : threads.count() * kItemsOfThread;
  // Many rows pass over one panel at a time, which stays in the first-level cache.
  const size_t at_once = call.rows <= tiles_->rows ? divide_up(panels, wanted) : 1;
  for_each_item(threads, divide_up(panels, at_once), [&](size_t item, size_t) {
    const size_t first = item * at_once * kInt4Panel;
    Int4Tile tile;
    tile.columns = std::min(at_once * kInt4Panel, columns_ - first);
    tile.group = group_;
    tile.groups = groups_;
    tile.has_column_scales = has_column_scales_;
    tile.left_stride = call.left_stride;
    tile.packed = static_cast<const uint8_t*>(call.packed) +
                  item * at_once * panel_bytes(depth_, groups_, has_column_scales_);
    tile.out_stride = call.out_stride;
    tile.clamp_min = call.clamp_min;
    tile.clamp_max = call.clamp_max;
    for (size_t row = 0; row < call.rows; row += tile.rows) {
      tile.rows = std::min(tiles_->rows, call.rows - row);
      tile.left = call.left + row * call.left_stride;
      tile.sums = sums + row * groups_;
      tile.parameters = call.parameters + row;
      tile.out = call.out + row * call.out_stride + first;
      tiles_->multiply(tile);
    }
  });
#else
  (void)call, (void)scratch, (void)threads;
#endif
}

}  // namespace executorch::kernels::engine
