// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Loops over several operands of one shape, as few and as long as their memory allows.
//
// Dimensions are sorted by the first operand's strides (so a channels_last output is written in
// order), and adjacent dimensions that are contiguous in every operand are merged. The remaining
// outer dimensions are an odometer over rows; a row is the innermost loop, which the caller writes:
//
//   contiguous (2,3,4) + (2,3,4)      →  one row of 24
//   contiguous (8,128,32) + (32)      →  1024 rows of 32, which all use the same second operand
//   rows transposed copy (3,4) ← (4,3)^T   →  3 rows of 4, the source at a stride
#pragma once

#include <executorch/kernels/loops/memory/strided.h>

namespace executorch::kernels {

class LoopNest {
 public:
  static constexpr int kMaxOperands = 4;

  /// The operands have the same sizes (see broadcast.h); the first one is the output. They may be
  /// destroyed after construction.
  LoopNest(const Strided& a, const Strided& b) {
    const Strided* const list[] = {&a, &b};
    build(list, 2);
  }
  LoopNest(const Strided& a, const Strided& b, const Strided& c) {
    const Strided* const list[] = {&a, &b, &c};
    build(list, 3);
  }
  LoopNest(const Strided* const* operands, int count) { build(operands, count); }

  bool empty() const { return empty_; }
  /// Elements in a row.
  int64_t row() const { return sizes_[rank_ - 1]; }
  /// Bytes between an operand's elements in a row.
  int64_t stride(int operand) const { return strides_[operand][rank_ - 1]; }

  /// Calls f(char* const* pointers) for every row, with where each operand's row starts.
  template <class F>
  void for_each_row(F&& f) const {
    for_each_outer(rank_ - 1, f);
  }

  /// Calls f(char* const* pointers) for every index of the `levels` outermost dimensions.
  template <class F>
  void for_each_outer(int levels, F&& f) const {
    if (empty_) return;
    char* at[kMaxOperands];
    int64_t index[Strided::kCapacity];
    for (int d = 0; d < levels; ++d) index[d] = 0;
    for (int k = 0; k < count_; ++k) at[k] = data_[k];
    while (true) {
      f(static_cast<char* const*>(at));
      if (!advance(levels, index, at)) return;
    }
  }

  /// The loops with those indices of dimension d only.
  LoopNest part(int d, int64_t begin, int64_t end) const;

  int rank() const { return rank_; }
  int64_t size(int d) const { return sizes_[d]; }
  int64_t stride(int operand, int d) const { return strides_[operand][d]; }
  char* data(int operand) const { return data_[operand]; }

 private:
  void build(const Strided* const* operands, int count);
  void sort();
  void merge();
  bool walks_before(int a, int b) const;
  bool advance(int levels, int64_t* index, char** at) const;

  int count_ = 0;
  int rank_ = 0;
  bool empty_ = false;
  int64_t sizes_[Strided::kCapacity];
  int64_t strides_[kMaxOperands][Strided::kCapacity];
  char* data_[kMaxOperands];
};

}  // namespace executorch::kernels
