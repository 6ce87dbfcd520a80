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

template <class T>
DepthwisePlane<T>::DepthwisePlane(KernelRuntimeContext& ctx, const GemmTile<T>& tile,
                                  const WindowLoops& loops, const Plane& image)
    : tile_(tile),
      loops_(loops),
      load_(load(image.dtype, compute_type<T>)),
      store_(store(compute_type<T>, image.dtype)),
      stands_(stands_as<T>(image.dtype)) {
  const WindowAxis *depth = &loops.axis[0], *y = &loops.axis[1], *x = &loops.axis[2];
  const auto ordinary = [](const WindowAxis* a) { return a->tap_shift > 0 && a->out_step == 1; };
  if (depth->in != 1 || depth->outputs != 1 || depth->taps != 1 || depth->origin != 0 ||
      !ordinary(y) || !ordinary(x)) {
    return;
  }
  const auto deal = [](const WindowAxis* a) {
    const int64_t extent = (a->outputs - 1) * a->step + (a->taps - 1) * a->tap_shift + 1;
    const int64_t phases = a->outputs > 1 ? a->step : 1;
    return Dealt{extent, phases, (extent + phases - 1) / phases};
  };
  rows_ = deal(y);
  columns_ = deal(x);
  constexpr int64_t kMost = 1 << 24;  // keeps the products below in range
  if (rows_.extent > kMost || columns_.extent > kMost) return;
  const int64_t taps = loops.taps();
  const int64_t slack = GemmTile<T>::kOverread / int64_t(sizeof(T));
  const int64_t plane = rows_.phases * rows_.length * columns_.phases * columns_.length + slack;
  const int64_t sums = y->outputs * columns_.length;
  const int64_t bytes =
      taps * int64_t(sizeof(int64_t)) + (plane + sums + taps) * int64_t(sizeof(T));
  const auto scratch = ctx.allocate_temp(size_t(bytes), 64);
  if (!scratch.ok()) return;
  offsets_ = static_cast<int64_t*>(*scratch);
  plane_ = reinterpret_cast<T*>(offsets_ + taps);
  sums_ = plane_ + plane;
  weights_ = sums_ + sums;
  std::fill_n(plane_, plane, T(0));
  for (int64_t i = 0; i < y->taps; ++i) {
    for (int64_t j = 0; j < x->taps; ++j) {
      offsets_[i * x->taps + j] = place(i * y->tap_shift, j * x->tap_shift);
    }
  }
}

template <class T>
int64_t DepthwisePlane<T>::place(int64_t y, int64_t x) const {
  const int64_t part = y % rows_.phases * columns_.phases + x % columns_.phases;
  return (part * rows_.length + y / rows_.phases) * columns_.length + x / columns_.phases;
}

template <class T>
void DepthwisePlane<T>::load_image(const Plane& image) {
  const WindowAxis &ys = loops_.axis[1], &xs = loops_.axis[2];
  for (int64_t y = std::max<int64_t>(0, -ys.origin); y < rows_.extent && ys.origin + y < ys.in;
       ++y) {
    const char* const row = image.data + (ys.origin + y) * image.strides[1];
    const int64_t begin = std::max<int64_t>(0, -xs.origin);
    const int64_t end = std::min(columns_.extent, xs.in - xs.origin);
    for (int64_t x = begin; x < std::min(end, begin + columns_.phases); ++x) {
      const int64_t n = (end - x + columns_.phases - 1) / columns_.phases;
      read_pixels(stands_, load_, plane_ + place(y, x), row + (xs.origin + x) * image.strides[2],
                  columns_.phases * image.strides[2], n);
    }
  }
}

template <class T>
void DepthwisePlane<T>::run(const WeightNest& weight, T bias, const Plane& out) {
  const WindowAxis &ys = loops_.axis[1], &xs = loops_.axis[2];
  for (int64_t i = 0; i < ys.taps; ++i) {
    load_(reinterpret_cast<char*>(weights_ + i * xs.taps), sizeof(T),
          weight.data + i * weight.strides[2], weight.strides[3], xs.taps);
  }
  tile_.tap_sum(plane_, offsets_, weights_, loops_.taps(), bias, sums_,
                (ys.outputs - 1) * columns_.length + xs.outputs);
  for (int64_t y = 0; y < ys.outputs; ++y) {
    const T* const row = sums_ + y * columns_.length;
    char* const to = out.data + y * out.strides[1];
    if (stands_ && out.strides[2] == int64_t(sizeof(T))) {
      std::copy(row, row + xs.outputs, reinterpret_cast<T*>(to));
    } else {
      store_(to, out.strides[2], reinterpret_cast<const char*>(row), sizeof(T), xs.outputs);
    }
  }
}

}  // namespace executorch::kernels::portable
