// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Depthwise convolution of a whole image at once.
//
// The image is copied into a plane that has its padding around it and, for a stride s, its rows and
// columns dealt out to s times s smaller planes, so that whatever the stride, one tap meets
// neighbouring outputs at neighbouring places. Then outputs are one long row (with some columns
// between the image's rows that nobody wants), and every tap is an offset:
//
//   stride 1, width 3, padding 1:   . a b c . | . d e f . | ...     tap (y, x) = offset y * 5 + x
#pragma once

#include <executorch/kernels/portable/conv/operands.h>

namespace executorch::kernels::portable {

template <class T>
class DepthwisePlane {
 public:
  /// Takes scratch from `ctx`. `ready()` is false where there is too little, and for loops that
  /// this does not cover: three dimensions, transposed.
  DepthwisePlane(KernelRuntimeContext& ctx, const GemmTile<T>& tile, const WindowLoops& loops,
                 const Plane& image);
  bool ready() const { return plane_ != nullptr; }

  /// Makes the coming channels read this image.
  void load_image(const Plane& image);
  void run(const WeightNest& weight, T bias, const Plane& out);

 private:
  /// One dimension of the plane: positions dealt out to `phases` parts of `length`.
  struct Dealt {
    int64_t extent, phases, length;
  };

  int64_t place(int64_t y, int64_t x) const;

  const GemmTile<T>& tile_;
  const WindowLoops& loops_;
  Dealt rows_, columns_;
  Convert load_;
  Convert store_;
  bool stands_;
  T* plane_ = nullptr;
  T* sums_ = nullptr;
  T* weights_ = nullptr;
  int64_t* offsets_ = nullptr;
};

extern template class DepthwisePlane<float>;
extern template class DepthwisePlane<double>;
extern template class DepthwisePlane<uint64_t>;

}  // namespace executorch::kernels::portable
