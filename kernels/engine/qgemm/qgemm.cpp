// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/qgemm/qgemm.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/qgemm/division.h>
#include <executorch/kernels/engine/qgemm/tiles.h>

namespace executorch::kernels::engine {
namespace {

/// The packed panels' weights, one part.
QPanelWeights weights_at(const QRightMatrix& right, size_t depth, size_t column, size_t columns) {
  QPanelWeights weights = {};
  weights.data = right.data + column * right.column_stride;
  weights.parts = weights.parts_across = 1;
  weights.depth = weights.run = depth;
  weights.depth_stride = right.depth_stride;
  weights.column_stride = right.column_stride;
  weights.columns = columns;
  return weights;
}

QLeftRows rows_of(const int8_t* left, size_t stride, size_t depth) {
  QLeftRows rows;
  rows.first = left;
  rows.stride = stride;
  rows.depth = depth;
  return rows;
}

}  // namespace

QGemm QGemm::plan(size_t columns, size_t depth, InstructionSet set) {
  QGemm gemm;
  gemm.tiles_ = &qgemm_tiles(set);
  gemm.columns_ = columns;
  gemm.depth_ = depth;
  return gemm;
}

uint32_t QGemm::layout() const { return layout_of(*tiles_); }

size_t QGemm::packed_bytes() const {
  const size_t panels = divide_up(columns_, tiles_->panel);
  return round_up(panels * tiles_->panel_bytes(1, depth_), kAlignment);
}

void QGemm::pack(const QRightMatrix& right, const QColumns& columns, void* packed) const {
  auto* to = static_cast<int8_t*>(packed);
  std::memset(to, 0, packed_bytes());
  for (size_t c = 0; c < columns_; c += tiles_->panel, to += tiles_->panel_bytes(1, depth_)) {
    pack_qpanel(*tiles_, weights_at(right, depth_, c, std::min(tiles_->panel, columns_ - c)),
                columns, c, to);
  }
}

/// Calls compute(rows of the left operand, first row, packed weights, columns, offset of the first
/// result) for each tile.
template <class Call, class Compute>
void QGemm::for_each_tile(const Call& call, Threads& threads, const Compute& compute) const {
  const QDivision division = divide(*tiles_, 1, call.rows, columns_, depth_, threads.count());
  for_each_item(threads, division.items(), [&](size_t item, size_t) {
    const QItem at = division.at(item, call.rows, columns_);
    QLeftRows left = rows_of(call.left, call.left_stride, depth_);
    const size_t panel_bytes = tiles_->panel_bytes(1, depth_);
    const int8_t* const packed =
        static_cast<const int8_t*>(call.packed) + at.column / tiles_->panel * panel_bytes;
    QAhead ahead;
    ahead.panels = panels_after(at, call.rows, columns_, packed, tiles_->panel, panel_bytes);
    left.ahead = &ahead;
    for (size_t row = at.row; row < at.row + at.rows; row += left.count) {
      left.count = std::min(tiles_->rows, at.row + at.rows - row);
      left.first = call.left + row * call.left_stride;
      ahead.rows = left.rows_after(call.rows - row);
      compute(left, row, packed, at.columns, row * call.out_stride + at.column);
    }
  });
}

void QGemm::run(const QGemmCall& call, Threads& threads) const {
  const AddResidual add = residual_kernel(tiles_->set);
  for_each_tile(
      call, threads,
      [&](const QLeftRows& left, size_t, const int8_t* packed, size_t columns, size_t to) {
        tiles_->to_bytes(left, packed, columns, call.out + to, call.out_stride, call.to);
        if (call.residual != nullptr) {
          add({&call.sum, call.residual + to, call.out_stride}, left.count, columns, call.out + to,
              call.out_stride);
        }
      });
}

void QGemm::run_dynamic(const DynamicQGemmCall& call, Threads& threads) const {
  for_each_tile(
      call, threads,
      [&](const QLeftRows& left, size_t row, const int8_t* packed, size_t columns, size_t to) {
        const QDynamic how = {call.parameters + row, 1, call.clamp_min, call.clamp_max};
        tiles_->to_floats(left, packed, columns, call.out + to, call.out_stride, how);
      });
}

}  // namespace executorch::kernels::engine
