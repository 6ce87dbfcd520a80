// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A panel has kPanel columns: their biases, then for each d a row of kWords words of 32 bits. The
// low half of word i is the weight of column i, the high half that of column kWords + i: a shift
// and a mask convert a vector of words.
#include <executorch/kernels/engine/gemm/bf16_weights.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/eltwise/activation.h>
#include <executorch/kernels/engine/gemm/division.h>
#include <executorch/kernels/engine/gemm/driver.h>
#include <executorch/kernels/engine/gemm/pack/pack_panels.h>
#include <executorch/kernels/engine/scratch_size.h>

namespace executorch::kernels::engine {
namespace {

constexpr size_t kPanel = 32, kWords = kPanel / 2;
/// Rows of one pass over a panel; two vectors of weights for each leave registers free.
constexpr size_t kPassRows = 2;
/// With more rows than this, converting weights once takes less time than in every pass.
constexpr size_t kMaxPassedRows = 4;
/// Rows of an item, where columns alone are too few items: conversion is then a small share of it.
constexpr size_t kItemRows = 64;
/// Converted weights of an item: a part of the second-level cache.
constexpr size_t kConvertedBytes = size_t{128} << 10;

/// At most kPassRows rows times the columns of a panel.
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

#define ET_SIMD_SOURCE <executorch/kernels/engine/gemm/bf16_weights.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {

bool Bf16WeightGemm::is_available(InstructionSet set) {
  return set >= InstructionSet::Avx2 &&
         gemm_tiles(set, Precision::BFloat16).precision == Precision::Float32;
}

Bf16WeightGemm Bf16WeightGemm::plan(size_t columns, size_t depth, InstructionSet set) {
  Bf16WeightGemm gemm;
  gemm.tiles_ = &gemm_tiles(set);
  gemm.columns_ = columns;
  gemm.depth_ = depth;
  return gemm;
}

uint32_t Bf16WeightGemm::layout() const {
  constexpr uint32_t kBf16Weights = uint32_t{1} << 29;
  return kBf16Weights | uint32_t(kPanel);
}

size_t Bf16WeightGemm::packed_bytes() const {
  return round_up(divide_up(columns_, kPanel) * panel_floats(depth_) * sizeof(float), kAlignment);
}

void Bf16WeightGemm::pack(const Bf16Matrix& right, const float* bias, float* packed,
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
            const size_t place = c % kWords * 2 + c / kWords;
            for (size_t d = 0; d < count; ++d) block[d][place] = from[d * right.depth_stride];
          }
          std::memcpy(panel + kPanel + begin * kWords, block, count * sizeof(block[0]));
        }
      });
}

size_t Bf16WeightGemm::converted_panels() const {
  const size_t fitting = kConvertedBytes / ((1 + depth_) * kPanel * sizeof(float));
  return std::clamp(fitting, size_t{1}, std::max(divide_up(columns_, kPanel), size_t{1}));
}

size_t Bf16WeightGemm::scratch_bytes(size_t rows, size_t threads) const {
  if (rows <= kMaxPassedRows) return 0;
  const size_t floats =
      limited_product(converted_panels() * kPanel, 1 + depth_, kMaxScratch / sizeof(float));
  return limited_product(threads, round_up(floats * sizeof(float), kAlignment));
}

void Bf16WeightGemm::run(const GemmCall& call, Threads& threads) const {
  if (call.rows == 0 || columns_ == 0) return;
  const bool is_few = call.rows <= kMaxPassedRows;
  const size_t panels = divide_up(columns_, kPanel), floats = panel_floats(depth_);
  const auto activate = activation_function(call.epilogue.activation, tiles_->set);
  const auto multiply_panel = ET_SIMD_FUNCTION(tiles_->set, multiply_panel);
  const auto convert_panel = ET_SIMD_FUNCTION(tiles_->set, convert_panel);
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
        part.columns = std::min(kPanel, columns - i * kPanel);
        part.depth = depth_;
        part.left_stride = call.left_stride;
        part.panel = call.packed + (first + i) * floats;
        part.out_stride = call.out_stride;
        part.clamp_min = call.epilogue.clamp_min;
        part.clamp_max = call.epilogue.clamp_max;
        for (size_t row = 0; row < call.rows; row += part.rows) {
          part.rows = std::min(kPassRows, call.rows - row);
          part.left = call.left + row * call.left_stride;
          const size_t at = row * call.out_stride + column + i * kPanel;
          part.out = call.out + at;
          part.residual = call.epilogue.residual == nullptr ? nullptr : call.epilogue.residual + at;
          multiply_panel(part);
        }
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
