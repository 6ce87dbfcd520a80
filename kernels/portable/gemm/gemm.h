// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.

/// Matrix products in blocks that fit the caches: the driver of matmul and convolution.
///
/// A product is out[m, n] = left[m, k] * right[k, n], computed in T (float, double, or uint64_t for
/// integers, which wrap). A BlockSource reads an operand from any layout and dtype, a BlockSink
/// stores the sums: a convolution is a product whose right operand reads an image.
#pragma once

#include <executorch/kernels/loops/dtype/types.h>
#include <executorch/kernels/portable/gemm/tiles.h>

namespace executorch::kernels {

/// Multiplications that justify another thread: about 5 us.
inline constexpr size_t kMinWork = 1 << 18;

/// A matrix that can be read by blocks in T, by several threads at the same time.
template <class T>
struct BlockSource {
  /// The matrix if memory has it as T (else null), with its steps in elements.
  const T* data = nullptr;
  int64_t row_step = 0;
  int64_t column_step = 0;

  /// Writes [rows, columns] values from (row, column) on to `to`, whose rows are `step` apart.
  virtual void read(int64_t row, int64_t rows, int64_t column, int64_t columns, T* to,
                    int64_t step) const = 0;

 protected:
  ~BlockSource() = default;
};

/// Takes finished sums block by block, from several threads at the same time.
template <class T>
struct BlockSink {
  /// The result itself if sums may be built up in place (else null): column step 1, rows `row_step`
  /// apart.
  T* data = nullptr;
  int64_t row_step = 0;

  /// Takes the finished sums [rows, columns] at (row, column); `from` points into `data` unless
  /// that is null.
  virtual void finish(int64_t row, int64_t rows, int64_t column, int64_t columns, const T* from,
                      int64_t step) = 0;

 protected:
  ~BlockSink() = default;
};

/// Products up to one shape and the scratch they need, for any number of runs. Large ones are
/// divided among the available threads.
template <class T>
class Gemm {
 public:
  /// Takes scratch memory from `ctx`, which must outlive this; without it, works in smaller blocks
  /// on the stack. `batch` products may run at the same time, see run_alone().
  Gemm(KernelRuntimeContext& ctx, const GemmTile<T>& tile, int64_t m, int64_t n, int64_t k,
       int64_t batch = 1);

  /// Makes the coming runs smaller; no size may be above the one given at construction.
  void shrink(int64_t m, int64_t n, int64_t k);

  void run(const BlockSource<T>& left, const BlockSource<T>& right, BlockSink<T>& out);

  /// How many threads may be in run_alone().
  int64_t parts() const { return int64_t(max_parts_); }
  /// A product on this thread alone. Concurrent calls must differ in `part`.
  void run_alone(int64_t part, const BlockSource<T>& left, const BlockSource<T>& right,
                 BlockSink<T>& out) {
    run_part(left, right, {0, m_, 0, n_}, out, scratch_[part]);
  }

  /// True if a tile fits into the driver's buffer.
  static constexpr bool holds(const GemmTile<T>& tile) {
    return tile.rows * tile.columns * int64_t(sizeof(T)) <= kMaxTileBytes;
  }

 private:
  struct Block {
    int64_t row, rows, column, columns;
  };
  /// A thread's buffers.
  struct Scratch {
    T* left;
    T* right;
    T* sums;
    int64_t right_column, right_depth;  ///< the block that `right` holds
    const BlockSource<T>* right_held;
  };

  void use_small();
  Block part(size_t index, size_t parts) const;
  void run_part(const BlockSource<T>& left, const BlockSource<T>& right, const Block& part,
                BlockSink<T>& out, Scratch& scratch) const;
  void accumulate(const Block& at, int64_t depth, const T* left, int64_t left_step, const T* right,
                  int64_t right_step, T* sums, int64_t step, bool more) const;
  void block(const BlockSource<T>& left, const BlockSource<T>& right, const Block& at,
             int64_t depth, T* sums, int64_t step, Scratch& scratch) const;

  static constexpr int64_t kSmallBytes = 6144;
  static constexpr size_t kMaxParts = is_bare_metal ? 1 : 32;
  /// Size of the largest tile; bare metal has only those of plain_gemm_tiles().
  static constexpr int64_t kMaxTileBytes = is_bare_metal ? 64 : GemmTile<T>::kMaxRows * 256;

  const GemmTile<T>& tile_;
  int64_t m_, n_, k_;
  int64_t block_rows_, block_columns_, block_depth_;
  int64_t right_step_;
  size_t max_parts_;
  Scratch scratch_[kMaxParts];
  alignas(64) unsigned char small_[kSmallBytes];
};

extern template class Gemm<float>;
extern template class Gemm<double>;
extern template class Gemm<uint64_t>;

}  // namespace executorch::kernels
