// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A tensor as its memory: its address and, for each dimension, its size and stride. Operators on
// shapes change these numbers; loops run over them.
#pragma once

#include <executorch/kernels/loops/dtype/dtype.h>

namespace executorch::kernels {

/// Memory of one dtype with a size and a stride (in bytes; negative and zero allowed) a dimension.
/// Does not own the memory: the tensor must outlive it. Taking it apart may double the rank
/// (repeat, pixel_shuffle).
struct Strided {
  static constexpr int kCapacity = 2 * kMaxRank;

  char* data = nullptr;
  ScalarType dtype = ScalarType::Undefined;
  int rank = 0;
  int64_t sizes[kCapacity];
  int64_t strides[kCapacity];

  Strided() = default;
  Strided(const Strided& other) { *this = other; }
  /// Copies only the used dimensions of the arrays: they are long, and kernels may be short.
  Strided& operator=(const Strided& other);
  /// The whole tensor. Its rank is at most kMaxRank (the loader refuses others).
  explicit Strided(const Tensor& tensor);

  int64_t element_size() const { return width_of(dtype); }
  int64_t numel() const;
  /// Appends an innermost dimension.
  void append(int64_t size, int64_t stride);
  /// Inserts a dimension before `dim`.
  void insert(int dim, int64_t size, int64_t stride);
  void remove(int dim);
  /// Keeps `size` indices of a dimension, from `start` on, `step` apart.
  void narrow(int dim, int64_t start, int64_t size, int64_t step = 1);
};

}  // namespace executorch::kernels
