// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A panel has kPanel columns: their biases, then for each d a row of kWords words of 32 bits.
// bfloat16: the low half of word i is the weight of column i, the high half that of column
// kWords + i, so that a shift and a mask convert a vector of words. float16: the halves are in the
// order of columns.
#include <executorch/kernels/engine/gemm/narrow_weights.h>

#include <algorithm>
#include <cstring>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/eltwise/activation.h>
#include <executorch/kernels/engine/gemm/division.h>
#include <executorch/kernels/engine/gemm/driver.h>
#include <executorch/kernels/engine/gemm/pack/pack_panels.h>
#include <executorch/kernels/engine/scratch_size.h>

namespace executorch::kernels::engine {
namespace {

constexpr size_t kPanel = 32, kWords = kPanel / 2;
/// With more rows than this, converting weights once takes less time than in every pass
/// (`engine_weights`).
constexpr size_t kMaxPassedRows = 48;
/// Rows of an item, where columns alone are too few items: conversion is then a small share of it.
constexpr size_t kItemRows = 64;
/// Converted weights of an item: a part of the second-level cache.
constexpr size_t kConvertedBytes = size_t{128} << 10;

/// Rows times the columns of a panel.
struct PanelProduct {
  size_t rows = 0, columns = 0, depth = 0;
  const float* left = nullptr;
  size_t left_stride = 0;
  const float* panel = nullptr;
  float* out = nullptr;
  const float* residual = nullptr;  ///< lies as `out` does; null for none
  size_t out_stride = 0;
  float clamp_min = 0, clamp_max = 0;
};

constexpr size_t panel_floats(size_t depth) { return kPanel + depth * kWords; }

}  // namespace
}  // namespace executorch::kernels::engine

#define ET_SIMD_SOURCE <executorch/kernels/engine/gemm/narrow_weights.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {

bool NarrowWeightGemm::is_available(InstructionSet set) { return set >= InstructionSet::Avx2; }

NarrowWeightGemm NarrowWeightGemm::plan(size_t columns, size_t depth, NarrowType type,
                                        InstructionSet set) {
  NarrowWeightGemm gemm;
  gemm.tiles_ = &gemm_tiles(set);
  gemm.columns_ = columns;
  gemm.depth_ = depth;
  gemm.type_ = type;
  return gemm;
}

uint32_t NarrowWeightGemm::layout() const {
  constexpr uint32_t kNarrowWeights = uint32_t{1} << 29;
  return kNarrowWeights | uint32_t(type_) << 12 | uint32_t(kPanel);
}

size_t NarrowWeightGemm::packed_bytes() const {
  return round_up(divide_up(columns_, kPanel) * panel_floats(depth_) * sizeof(float), kAlignment);
}

void NarrowWeightGemm::pack(const NarrowMatrix& right, const float* bias, float* packed,
                            Threads& threads) const {
  const size_t panels = divide_up(columns_, kPanel), floats = panel_floats(depth_);
  std::fill(packed + panels * floats, packed + packed_bytes() / sizeof(float), 0.0f);
  CallingThread alone;
  for_each_item(
      packed_bytes() < kBytesWorthThreads ? alone : threads, panels, [&](size_t item, size_t) {
        const size_t first = item * kPanel, columns = std::min(kPanel, columns_ - first);
        float* const panel = packed + item * floats;
        std::fill(panel, panel + kPanel, 0.0f);
        if (bias != nullptr) std::copy(bias + first, bias + first + columns, panel);
        // Blocks of depth, so that a line of each column is read once.
        constexpr size_t kBlock = 32;
        for (size_t begin = 0; begin < depth_; begin += kBlock) {
          const size_t count = std::min(kBlock, depth_ - begin);
          uint16_t block[kBlock][kPanel] = {};
          for (size_t c = 0; c < columns; ++c) {
            const uint16_t* const from =
                right.data + (first + c) * right.column_stride + begin * right.depth_stride;
            const size_t place = type_ == NarrowType::BFloat16 ? c % kWords * 2 + c / kWords : c;
            for (size_t d = 0; d < count; ++d) block[d][place] = from[d * right.depth_stride];
          }
          std::memcpy(panel + kPanel + begin * kWords, block, count * sizeof(block[0]));
        }
      });
}

size_t NarrowWeightGemm::converted_panels() const {
  const size_t fitting = kConvertedBytes / ((1 + depth_) * kPanel * sizeof(float));
  return std::clamp(fitting, size_t{1}, std::max(divide_up(columns_, kPanel), size_t{1}));
}

size_t NarrowWeightGemm::scratch_bytes(size_t rows, size_t threads) const {
  if (rows <= kMaxPassedRows) return 0;
  const size_t floats =
      limited_product(converted_panels() * kPanel, 1 + depth_, kMaxScratch / sizeof(float));
  return limited_product(threads, round_up(floats * sizeof(float), kAlignment));
}

void NarrowWeightGemm::run(const GemmCall& call, Threads& threads) const {
  if (call.rows == 0 || columns_ == 0) return;
  const bool is_few = call.rows <= kMaxPassedRows;
  const size_t panels = divide_up(columns_, kPanel), floats = panel_floats(depth_);
  const auto activate = activation_function(call.epilogue.activation, tiles_->set);
  const bool is_bf16 = type_ == NarrowType::BFloat16;
  const auto multiply_panel =
      is_bf16 ? ET_SIMD_FUNCTION(tiles_->set, multiply_panel<NarrowType::BFloat16>)
              : ET_SIMD_FUNCTION(tiles_->set, multiply_panel<NarrowType::Float16>);
  const auto convert_panel =
      is_bf16 ? ET_SIMD_FUNCTION(tiles_->set, convert_panel<NarrowType::BFloat16>)
              : ET_SIMD_FUNCTION(tiles_->set, convert_panel<NarrowType::Float16>);
  const size_t wanted = threads.count() == 1 ? 1 : kItemsOfThread * threads.count();
  const size_t most = is_few ? panels : converted_panels();
  const size_t item_panels = std::min(most, divide_up(panels, wanted));
  const size_t column_items = divide_up(panels, item_panels);
  const size_t parts = is_few ? 1
                              : std::clamp(divide_up(wanted, column_items), size_t{1},
                                           divide_up(call.rows, kItemRows));
  const size_t item_rows = divide_up(call.rows, parts);
  const size_t row_items = divide_up(call.rows, item_rows);
  const size_t of_worker = scratch_bytes(call.rows, 1) / sizeof(float);

  for_each_item(threads, column_items * row_items, [&](size_t item, size_t worker) {
    const size_t first = item / row_items * item_panels;
    const size_t count = std::min(item_panels, panels - first);
    const size_t column = first * kPanel;
    const size_t columns = std::min(count * kPanel, columns_ - column);
    const size_t first_row = item % row_items * item_rows;
    const size_t rows = std::min(item_rows, call.rows - first_row);
    const size_t place = first_row * call.out_stride + column;
    if (is_few) {
      for (size_t i = 0; i < count; ++i) {
        PanelProduct part;
        part.rows = call.rows;
        part.columns = std::min(kPanel, columns - i * kPanel);
        part.depth = depth_;
        part.left = call.left;
        part.left_stride = call.left_stride;
        part.panel = call.packed + (first + i) * floats;
        const size_t at = column + i * kPanel;
        part.out = call.out + at;
        part.residual = call.epilogue.residual == nullptr ? nullptr : call.epilogue.residual + at;
        part.out_stride = call.out_stride;
        part.clamp_min = call.epilogue.clamp_min;
        part.clamp_max = call.epilogue.clamp_max;
        multiply_panel(part);
      }
    } else {
      float* const converted = static_cast<float*>(call.scratch) + worker * of_worker;
      for (size_t i = 0; i < count; ++i) {
        convert_panel(call.packed + (first + i) * floats, depth_, tiles_->panel,
                      converted + i * kPanel * (1 + depth_));
      }
      Product product;
      product.tiles = tiles_;
      product.rows = rows;
      product.columns = columns;
      product.depth = depth_;
      product.left = call.left + first_row * call.left_stride;
      product.left_stride = call.left_stride * sizeof(float);
      product.packed = converted;
      product.write_to(call.out, place, call.out_stride, call.epilogue);
      run_product(product);
    }
    activate_rows(activate, call.out + place, rows, columns, call.out_stride);
  });
}

}  // namespace executorch::kernels::engine
