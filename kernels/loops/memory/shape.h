// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A shape as a value: operators infer the shape of their output, then resize the output to it.
#pragma once

#include <executorch/kernels/loops/dtype/dtype.h>

namespace executorch::kernels {

/// Up to kMaxRank sizes, kept in place.
struct Shape {
  int rank = 0;
  int64_t sizes[kMaxRank];

  Shape() = default;
  explicit Shape(const Tensor& tensor);
  /// Unchecked: call `fits` first where the list comes from a file.
  explicit Shape(ArrayRef<int64_t> list);
  static bool fits(ArrayRef<int64_t> list) { return list.size() <= size_t(kMaxRank); }

  int64_t numel() const;
  void append(int64_t size) { sizes[rank++] = size; }
  void remove(int dim);
  void insert(int dim, int64_t size);
  bool operator==(const Shape& other) const;
  bool operator!=(const Shape& other) const { return !(*this == other); }
};

/// A shape printed as [2, 3], for messages.
struct ShapeText {
  char text[160];
  explicit ShapeText(const Shape& shape);
  explicit ShapeText(const Tensor& tensor) : ShapeText(Shape(tensor)) {}
};

}  // namespace executorch::kernels
