// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Matrix products in blocks, and matrices in memory as their operands.
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/portable/gemm/gemm.h>
#include <executorch/kernels/portable/gemm/matrix.h>
#include <executorch/kernels/portable/gemm/tile_product.h>
#include <executorch/runtime/kernel/parallel.h>

#include <algorithm>

namespace executorch::kernels {
namespace {

using runtime::parallel_parts;
using runtime::Result;
using runtime::run_parallel;

// Blocks for a level 2 cache of 512 KB: left 192 x 256 and right 256 x 240 floats.
constexpr int64_t kBlockRows = 192;
constexpr int64_t kBlockDepth = 256;
constexpr int64_t kBlockColumnBytes = 960;
constexpr int64_t kLineBytes = 64;
// Up to this many tiles of rows, packing the right operand costs more than reading it in place.
constexpr int64_t kTilesReadInPlace = 2;
// Rows of the right operand at most this many tiles apart stay in the level 1 cache without
// packing.
constexpr int64_t kTilesOfNearRow = 2;
// Minimum number of tiles of columns of a part, so that little is wasted at its edge.
constexpr int64_t kTilesOfPart = 4;

int64_t up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/// Rows of an odd number of cache lines, so that a column of lines does not fall into one set of
/// the cache.
template <class T>
int64_t odd_lines(int64_t columns) {
  constexpr int64_t kLine = kLineBytes / sizeof(T);
  return (up(columns, kLine) / kLine | 1) * kLine;
}

/// Zeroes the elements that a tile reads beyond the last column; their sums are discarded.
template <class T>
void clear_edge(T* block, int64_t rows, int64_t columns, int64_t end, int64_t step) {
  for (int64_t r = 0; r < rows; ++r)
    std::fill(block + r * step + columns, block + r * step + end, T(0));
}

#if ET_HAS_VECTORS
/// Four columns of four as rows.
inline void transpose_four(const float* from, int64_t column_step, float* to, int64_t step) {
  typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));
  const Four a = *reinterpret_cast<const Four*>(from);
  const Four b = *reinterpret_cast<const Four*>(from + column_step);
  const Four c = *reinterpret_cast<const Four*>(from + 2 * column_step);
  const Four d = *reinterpret_cast<const Four*>(from + 3 * column_step);
  const Four ab[] = {__builtin_shufflevector(a, b, 0, 4, 1, 5),
                     __builtin_shufflevector(a, b, 2, 6, 3, 7)};
  const Four cd[] = {__builtin_shufflevector(c, d, 0, 4, 1, 5),
                     __builtin_shufflevector(c, d, 2, 6, 3, 7)};
  for (int i = 0; i < 2; ++i, to += 2 * step) {
    *reinterpret_cast<Four*>(to) = __builtin_shufflevector(ab[i], cd[i], 0, 1, 4, 5);
    *reinterpret_cast<Four*>(to + step) = __builtin_shufflevector(ab[i], cd[i], 2, 3, 6, 7);
  }
}
#endif

}  // namespace

template <class T>
Gemm<T>::Gemm(KernelRuntimeContext& ctx, const GemmTile<T>& tile, int64_t m, int64_t n, int64_t k,
              int64_t batch)
    : tile_(tile), m_(m), n_(n), k_(k) {
  const int64_t columns =
      up(std::max<int64_t>(kBlockColumnBytes / sizeof(T), tile.columns), tile.columns);
  block_rows_ = std::min(m, up(kBlockRows, tile.rows));
  block_columns_ = std::min(up(n, tile.columns), columns);
  block_depth_ = std::clamp<int64_t>(k, 1, kBlockDepth);
  right_step_ = odd_lines<T>(block_columns_);
  const int64_t left = block_rows_ * block_depth_;
  const int64_t right = block_depth_ * right_step_;
  const int64_t sums = block_rows_ * right_step_;
  const int64_t part_bytes = up((left + right + sums) * sizeof(T), kLineBytes);
  const size_t work = size_t(m) * size_t(n) * size_t(k) * size_t(batch);
  max_parts_ = std::min(parallel_parts(work, kMinWork), kMaxParts);
  const auto take = [&] { return ctx.allocate_temp(part_bytes * max_parts_, kLineBytes); };
  Result<void*> all = take();
  void* memory = all.ok() ? *all : nullptr;
  if (memory == nullptr && max_parts_ > 1) {
    max_parts_ = 1;
    Result<void*> one = take();
    memory = one.ok() ? *one : nullptr;
  }
  if (memory == nullptr) {
    use_small();
    return;
  }
  for (size_t i = 0; i < max_parts_; ++i) {
    T* const at = reinterpret_cast<T*>(static_cast<unsigned char*>(memory) + i * part_bytes);
    scratch_[i] = {at + right + sums, at, at + right, -1, -1, nullptr};
  }
}

template <class T>
void Gemm<T>::use_small() {
  block_rows_ = std::min<int64_t>(m_, tile_.rows);
  block_columns_ = tile_.columns;
  right_step_ = tile_.columns;
  const int64_t values = kSmallBytes / sizeof(T) - block_rows_ * right_step_;
  block_depth_ =
      std::clamp<int64_t>(k_, 1, std::max<int64_t>(values / (block_rows_ + right_step_), 1));
  T* const memory = reinterpret_cast<T*>(small_);
  T* const sums = memory + block_depth_ * right_step_;
  scratch_[0] = {sums + block_rows_ * right_step_, memory, sums, -1, -1, nullptr};
}

template <class T>
void Gemm<T>::shrink(int64_t m, int64_t n, int64_t k) {
  m_ = m;
  n_ = n;
  k_ = k;
}

/// A thread's part of the result: columns, so that each thread packs its own, unless there are few.
template <class T>
typename Gemm<T>::Block Gemm<T>::part(size_t index, size_t parts) const {
  const bool by_columns = n_ >= int64_t(parts) * kTilesOfPart * tile_.columns || m_ < n_;
  const int64_t size = by_columns ? n_ : m_;
  const int64_t step = by_columns ? tile_.columns : tile_.rows;
  const int64_t steps = (size + step - 1) / step;
  const int64_t begin = std::min(size, steps * int64_t(index) / int64_t(parts) * step);
  const int64_t end = std::min(size, steps * int64_t(index + 1) / int64_t(parts) * step);
  return by_columns ? Block{0, m_, begin, end - begin} : Block{begin, end - begin, 0, n_};
}

template <class T>
void Gemm<T>::run(const BlockSource<T>& left, const BlockSource<T>& right, BlockSink<T>& out) {
  const size_t work = size_t(m_) * size_t(n_) * size_t(k_);
  const size_t parts = std::clamp<size_t>(work / kMinWork, 1, max_parts_);
  run_parallel(
      [&](size_t index) { run_part(left, right, part(index, parts), out, scratch_[index]); },
      parts);
}

template <class T>
void Gemm<T>::run_part(const BlockSource<T>& left, const BlockSource<T>& right, const Block& part,
                       BlockSink<T>& out, Scratch& scratch) const {
  scratch.right_held = nullptr;
  const int64_t last_column = part.column + part.columns, last_row = part.row + part.rows;
  // Sums that are built up in the result leave room for those of all rows: a block of the right
  // operand, once prepared, then serves them all.
  const int64_t together = out.data ? part.rows : block_rows_;
  const int64_t step = out.data ? out.row_step : right_step_;
  for (int64_t column = part.column; column < last_column; column += block_columns_) {
    const int64_t columns = std::min(block_columns_, last_column - column);
    T* const top = out.data ? out.data + column : scratch.sums;
    for (int64_t first = part.row; first < last_row; first += together) {
      const int64_t rows = std::min(together, last_row - first);
      const auto sums = [&](int64_t row) { return out.data ? top + row * step : top; };
      for (int64_t depth = 0; depth == 0 || depth < k_; depth += block_depth_) {
        for (int64_t row = first; row < first + rows; row += block_rows_) {
          const Block at = {row, std::min(block_rows_, first + rows - row), column, columns};
          block(left, right, at, depth, sums(row), step, scratch);
          if (depth + block_depth_ < k_) continue;
          out.finish(row, at.rows, column, columns, sums(row), step);
        }
      }
    }
  }
}

template <class T>
void Gemm<T>::block(const BlockSource<T>& left, const BlockSource<T>& right, const Block& at,
                    int64_t depth, T* sums, int64_t step, Scratch& scratch) const {
  const bool right_in_place =
      right.data && right.column_step == 1 &&
      (m_ <= kTilesReadInPlace * tile_.rows || right.row_step <= kTilesOfNearRow * tile_.columns);
  const bool left_in_place = left.data && left.column_step == 1;
  const int64_t depths = std::min(block_depth_, k_ - depth);
  const T* right_from = scratch.right;
  int64_t right_step = right_step_;
  if (right_in_place && at.columns % tile_.columns == 0) {
    right_from = right.data + depth * right.row_step + at.column;
    right_step = right.row_step;
  } else if (scratch.right_held != &right || scratch.right_column != at.column ||
             scratch.right_depth != depth) {
    right.read(depth, depths, at.column, at.columns, scratch.right, right_step_);
    clear_edge(scratch.right, depths, at.columns, up(at.columns, tile_.columns), right_step_);
    scratch.right_held = &right;
    scratch.right_column = at.column;
    scratch.right_depth = depth;
  }
  const T* left_from = scratch.left;
  int64_t left_step = block_depth_;
  if (left_in_place) {
    left_from = left.data + at.row * left.row_step + depth;
    left_step = left.row_step;
  } else {
    left.read(at.row, at.rows, depth, depths, scratch.left, left_step);
  }
  accumulate(at, depths, left_from, left_step, right_from, right_step, sums, step, depth != 0);
}

template <class T>
void Gemm<T>::accumulate(const Block& at, int64_t depth, const T* left, int64_t left_step,
                         const T* right, int64_t right_step, T* sums, int64_t step,
                         bool more) const {
  alignas(64) T edge[kMaxTileBytes / sizeof(T)];
  for (int64_t j = 0; j < at.columns; j += tile_.columns) {
    const int64_t columns = std::min<int64_t>(tile_.columns, at.columns - j);
    for (int64_t i = 0; i < at.rows; i += tile_.rows) {
      const int64_t rows = std::min<int64_t>(tile_.rows, at.rows - i);
      const auto tile = tile_.tile[rows - 1];
      const T* a = left + i * left_step;
      T* to = sums + i * step + j;
      if (columns == tile_.columns) {
        tile(depth, a, left_step, right + j, right_step, to, step, more);
        continue;
      }
      tile(depth, a, left_step, right + j, right_step, edge, tile_.columns, false);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          const T sum = edge[r * tile_.columns + c];
          to[r * step + c] = more ? to[r * step + c] + sum : sum;
        }
      }
    }
  }
}

template class Gemm<float>;
template class Gemm<double>;
template class Gemm<uint64_t>;

template <class T>
MatrixSource<T>::MatrixSource(const MatrixView& view)
    : view_(view), load_(load(view.dtype, compute_type<T>)) {
  constexpr int64_t kSize = sizeof(T);
  if (is_stored_as<T>(view.dtype) && view.row_stride % kSize == 0 &&
      view.column_stride % kSize == 0) {
    this->data = reinterpret_cast<const T*>(view.data);
    this->row_step = view.row_stride / kSize;
    this->column_step = view.column_stride / kSize;
  }
}

template <class T>
void MatrixSource<T>::read(int64_t row, int64_t rows, int64_t column, int64_t columns, T* to,
                           int64_t step) const {
  const char* from = view_.data + row * view_.row_stride + column * view_.column_stride;
  if (this->data && this->row_step == 1 && this->column_step > 1) {
    transpose(this->data + row + column * this->column_step, this->column_step, rows, columns, to,
              step);
    return;
  }
  // Along the dimension with the smaller stride.
  if (view_.column_stride <= view_.row_stride) {
    for (int64_t i = 0; i < rows; ++i) {
      load_(reinterpret_cast<char*>(to + i * step), sizeof(T), from + i * view_.row_stride,
            view_.column_stride, columns);
    }
    return;
  }
  for (int64_t j = 0; j < columns; ++j) {
    load_(reinterpret_cast<char*>(to + j), step * sizeof(T), from + j * view_.column_stride,
          view_.row_stride, rows);
  }
}

template <class T>
MatrixSink<T>::MatrixSink(const MatrixView& out, const MatrixView& addend, T alpha, T beta)
    : out_(out),
      addend_(addend),
      alpha_(alpha),
      beta_(beta),
      load_(addend.data ? load(addend.dtype, compute_type<T>) : nullptr),
      store_(store(compute_type<T>, out.dtype)) {
  constexpr int64_t kSize = sizeof(T);
  const bool in_place = is_stored_as<T>(out.dtype) && out.column_stride == kSize &&
                        out.row_stride % kSize == 0 && addend.data != out.data;
  if (in_place) {
    this->data = reinterpret_cast<T*>(out.data);
    this->row_step = out.row_stride / kSize;
  }
}

template <class T>
void MatrixSink<T>::finish(int64_t row, int64_t rows, int64_t column, int64_t columns,
                           const T* from, int64_t step) {
  if (this->data && !addend_.data && alpha_ == T(1)) return;
  T values[kBlock];
  T addend[kBlock];
  for (int64_t i = 0; i < rows; ++i) {
    char* to = out_.data + (row + i) * out_.row_stride + column * out_.column_stride;
    const char* add =
        addend_.data + (row + i) * addend_.row_stride + column * addend_.column_stride;
    for (int64_t j = 0; j < columns; j += kBlock) {
      const int64_t n = std::min(kBlock, columns - j);
      const T* sums = from + i * step + j;
      for (int64_t c = 0; c < n; ++c) values[c] = alpha_ * sums[c];
      if (addend_.data) {
        load_(reinterpret_cast<char*>(addend), sizeof(T), add + j * addend_.column_stride,
              addend_.column_stride, n);
        for (int64_t c = 0; c < n; ++c) values[c] += beta_ * addend[c];
      }
      store_(to + j * out_.column_stride, out_.column_stride, reinterpret_cast<const char*>(values),
             sizeof(T), n);
    }
  }
}

template <class T>
void transpose(const T* from, int64_t column_step, int64_t rows, int64_t columns, T* to,
               int64_t step) {
  constexpr int64_t kLine = 64 / sizeof(T);
  int64_t j = 0;
  for (; j + kLine <= columns; j += kLine) {
    const T* column = from + j * column_step;
    int64_t i = 0;
#if ET_HAS_VECTORS
    if constexpr (std::is_same_v<T, float>) {
      for (; i + 4 <= rows; i += 4) {
        for (int64_t c = 0; c < kLine; c += 4) {
          transpose_four(column + c * column_step + i, column_step, to + i * step + j + c, step);
        }
      }
    }
#endif
    for (; i < rows; ++i) {
      for (int64_t c = 0; c < kLine; ++c) to[i * step + j + c] = column[c * column_step + i];
    }
  }
  for (; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) to[i * step + j] = from[j * column_step + i];
  }
}

template void transpose(const float*, int64_t, int64_t, int64_t, float*, int64_t);
template void transpose(const double*, int64_t, int64_t, int64_t, double*, int64_t);
template void transpose(const uint64_t*, int64_t, int64_t, int64_t, uint64_t*, int64_t);
template class MatrixSource<float>;
template class MatrixSource<double>;
template class MatrixSource<uint64_t>;
template class MatrixSink<float>;
template class MatrixSink<double>;
template class MatrixSink<uint64_t>;

const GemmTiles& plain_gemm_tiles() {
#if ET_HAS_VECTORS
  // 16 bytes are a register of SSE2 and NEON.
  static constexpr GemmTiles kTiles = {gemm_tile<float, 16, 4, 2>(), gemm_tile<double, 16, 4, 2>(),
                                       gemm_tile<uint64_t, 16, 2, 1>()};
#else
  static constexpr GemmTiles kTiles = {gemm_tile<float, 4, 4, 4>(), gemm_tile<double, 8, 2, 2>(),
                                       gemm_tile<uint64_t, 8, 2, 2>()};
#endif
  static_assert(Gemm<float>::holds(kTiles.f32) && Gemm<double>::holds(kTiles.f64) &&
                Gemm<uint64_t>::holds(kTiles.u64));
#if ET_WIDE_VECTORS
  static constexpr GemmTiles kFused = {gemm_tile<float, 32, 6, 2, Fused>(),
                                       gemm_tile<double, 32, 6, 2, Fused>(), kTiles.u64};
  static constexpr GemmTiles kFusedWidest = {gemm_tile<float, 64, 12, 2, FusedWidest>(),
                                             gemm_tile<double, 64, 12, 2, FusedWidest>(),
                                             kTiles.u64};
  if (has_fused_widest()) return kFusedWidest;
  if (has_fused()) return kFused;
#endif
  return kTiles;
}

}  // namespace executorch::kernels
