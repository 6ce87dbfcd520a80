// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/gemm/gemm.h>

#include <algorithm>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/eltwise/activation.h>
#include <executorch/kernels/engine/gemm/bf16.h>
#include <executorch/kernels/engine/gemm/division.h>
#include <executorch/kernels/engine/gemm/driver.h>
#include <executorch/kernels/engine/gemm/pack/pack_panels.h>

namespace executorch::kernels::engine {

Gemm Gemm::plan(size_t columns, size_t depth, InstructionSet set, Precision precision) {
  Gemm gemm;
  gemm.tiles_ = &gemm_tiles(set, profitable_precision(precision, columns, depth));
  gemm.columns_ = columns;
  gemm.depth_ = depth;
  return gemm;
}

Precision Gemm::precision() const { return tiles_->precision; }

bool Gemm::can_write_pairs() const {
  return tiles_->writes_pairs && columns_ % 2 == 0 && is_one_block(tiles_->words(depth_));
}

uint32_t Gemm::layout() const {
  return uint32_t(tiles_->precision) << 12 | uint32_t(tiles_->panel);
}

size_t Gemm::packed_bytes() const {
  const size_t panels = divide_up(columns_, tiles_->panel);
  return round_up(panels * panel_floats(*tiles_, tiles_->words(depth_)) * sizeof(float),
                  kAlignment);
}

size_t Gemm::scratch_bytes(size_t rows) const {
  if (tiles_->precision == Precision::Float32) return 0;
  return round_up(rows * tiles_->words(depth_) * sizeof(float), kAlignment);
}

void Gemm::pack(const RightMatrix& right, const float* bias, float* packed,
                Threads& threads) const {
  const size_t panel = tiles_->panel, floats = panel_floats(*tiles_, tiles_->words(depth_));
  const size_t panels = divide_up(columns_, panel);
  std::fill(packed + panels * floats, packed + packed_bytes() / sizeof(float), 0.0f);
  CallingThread alone;
  for_each_item(packed_bytes() < kBytesWorthThreads ? alone : threads, panels,
                [&](size_t i, size_t) {
                  const size_t column = i * panel;
                  const RightMatrix at = {right.data + column * right.column_stride,
                                          right.depth_stride, right.column_stride};
                  pack_panel(*tiles_, at, bias == nullptr ? nullptr : bias + column,
                             std::min(panel, columns_ - column), depth_, packed + i * floats);
                });
}

void Gemm::run(const GemmCall& call, Threads& threads) const {
  const size_t depth = tiles_->words(depth_), panel_size = panel_floats(*tiles_, depth);
  const float* left = call.left;
  size_t left_stride = call.left_stride;
  if (tiles_->precision == Precision::BFloat16 && !call.left_is_pairs) {
    auto* const narrowed = static_cast<float*>(call.scratch);
    narrow_rows({call.left, call.rows, call.left_stride, 1, depth_, narrowed}, threads);
    left = narrowed;
    left_stride = depth;
  }
  DividedProduct divided;
  divided.rows = call.rows;
  divided.columns = columns_;
  divided.depth = depth;
  divided.activation = call.epilogue.activation;
  const Division division = divide(*tiles_, divided, threads.count());
  const auto activate = activation_function(call.epilogue.activation, tiles_->set);
  for_each_item(threads, division.items(), [&](size_t item, size_t) {
    const size_t column = item / division.row_items * division.columns;
    const size_t row = item % division.row_items * division.rows;
    Product product;
    product.tiles = tiles_;
    product.rows = std::min(division.rows, call.rows - row);
    product.columns = std::min(division.columns, columns_ - column);
    product.depth = depth;
    product.left = left + row * left_stride;
    product.left_stride = left_stride * sizeof(float);
    product.packed = call.packed + column / tiles_->panel * panel_size;
    product.writes_pairs = call.out_is_pairs;
    const size_t at = row * call.out_stride + product.out_floats(column);
    product.write_to(call.out, at, call.out_stride, call.epilogue);
    product.prefetches = true;
    if (row + product.rows == call.rows) {
      const size_t behind = columns_ - column - product.columns;
      product.next_bytes = std::min(behind, division.columns) * (1 + depth) * sizeof(float);
    }
    run_product(product);
    activate_rows(activate, product.out, product.rows, product.columns, call.out_stride);
  });
}

}  // namespace executorch::kernels::engine
