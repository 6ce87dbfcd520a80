// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A depthwise convolution alone, of images whose channels lie apart, as programs have them unless
// told otherwise. XNNPACK's wants channels side by side: of large images, bringing them there and
// back takes longer than the convolution.
#pragma once

#include <stddef.h>

#include <memory>
#include <optional>
#include <vector>

#include <xnnpack.h>

#include <executorch/backends/xnnpack/runtime/constants.h>
#include <executorch/backends/xnnpack/runtime/payload.h>

namespace executorch::backends::xnnpack {

class PlaneConvolution final {
 public:
  /// The convolution, if the graph is that between two changes of order, in float32, and nothing
  /// else. Copies its weights.
  static std::optional<PlaneConvolution> of(const Payload& payload, const Constants& constants);

  /// Whether it is faster so than XNNPACK's for an input of these sizes.
  bool gains(const size_t* sizes) const;
  /// @param sizes Of the input: batch, channels, height, width; the graph's shapes allow them.
  /// @param threads May be null.
  xnn_status run(const float* in, const size_t* sizes, float* out, pthreadpool_t threads);

 private:
  /// One dimension of the window: zeros before and after the image, taps, their distance, the
  /// windows' distance.
  struct Axis {
    size_t before, after, taps, spacing, step;

    size_t extent() const { return (taps - 1) * spacing + 1; }
    size_t outputs(size_t size) const;
  };
  /// How one image, its zeros around it, lies in scratch memory: columns dealt out to `step` parts
  /// of `width` in each row, so that neighbouring outputs always read neighbours.
  struct Layout {
    size_t in_rows, in_columns, out_rows, out_columns;
    size_t width, row, size;
  };
  struct Work;

  Layout layout_of(size_t height, size_t width) const;
  /// Whether it is one of square_window.h: of 3 x 3 neighbours, for each column and row.
  bool is_square() const;
  /// Room for as many elements in `planes_`.
  bool reserve(size_t elements);
  void place(const float* image, const Layout& layout, float* plane) const;

  Axis rows_, columns_;
  size_t channels_;
  float min_, max_;
  std::vector<float> weights_;  ///< [channel, tap]
  std::vector<float> biases_;
  std::unique_ptr<float[]> planes_;  ///< one for each thread, or a row of zeros for all
  size_t planes_size_ = 0;
};

}  // namespace executorch::backends::xnnpack
