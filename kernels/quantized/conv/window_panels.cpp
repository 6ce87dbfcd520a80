// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/quantized/conv/window_panels.h>

namespace executorch::kernels::quantized {

using namespace portable;

WindowPanels::WindowPanels(const IntegerLoops& loops, const WindowLoops& windows,
                           const Plane& image, int8_t padding, void* room)
    : loops_(loops),
      windows_(windows),
      image_(image),
      padding_(padding),
      taps_(windows.taps()),
      flat_(taps_ == 1),
      offsets_(static_cast<ptrdiff_t*>(room)),
      starts_(offsets_ + taps_ * loops.columns) {
  int64_t stride = 1;
  for (int d = kSpatial - 1; d >= 0; --d) {
    const WindowAxis& axis = windows.axis[d];
    flat_ = flat_ && axis.outputs == axis.in && axis.origin == 0 && axis.step == 1 &&
            (axis.in == 1 || image.strides[d] == stride);
    stride *= axis.in;
  }
}

void WindowPanels::fill(const char* image, int64_t channels, Factor* to) const {
  if (taps_ == 0) return;
  int8_t room[kTogether][IntegerLoops::kMaxColumns];
  const int8_t* rows[kTogether];
  int waiting = 0;
  const auto place = [&](const int8_t* row) {
    rows[waiting++] = row;
    if (waiting < kTogether) return;
    loops_.interleave(rows, to);
    to += kTogether * loops_.columns;
    waiting = 0;
  };
  for (int64_t c = 0; c < channels; ++c) {
    const auto* channel = reinterpret_cast<const int8_t*>(image + c * image_.channel_stride);
    for (int64_t tap = 0; tap < taps_; ++tap) place(row(channel, tap, room[waiting]));
  }
  if constexpr (kTogether > 1) {
    if (waiting == 0) return;
    std::fill_n(room[waiting], loops_.columns,
                int8_t(0));  // the second factor of an incomplete pair
    place(room[waiting]);
  }
}

/// One row of the matrix: in place, or gathered into `room`.
const int8_t* WindowPanels::row(const int8_t* channel, int64_t tap, int8_t* room) const {
  if (starts_[tap] != kOutside) return channel + starts_[tap];
  const ptrdiff_t* const offsets = offsets_ + tap * loops_.columns;
  for (int j = 0; j < loops_.columns; ++j) {
    room[j] = offsets[j] == kOutside ? padding_ : channel[offsets[j]];
  }
  return room;
}

void WindowPanels::find(int64_t first, int64_t count) {
  if (flat_ && count == loops_.columns) {
    starts_[0] = static_cast<ptrdiff_t>(first);
    return;
  }
  Place origins[IntegerLoops::kMaxColumns];
  SpatialIndex at = output_index(windows_, first);
  for (int64_t j = 0; j < count; ++j) {
    for (int d = 0; d < kSpatial; ++d) {
      origins[j][d] = windows_.axis[d].input(at.at[d], 0);
    }
    for (int d = kSpatial - 1; d >= 0 && ++at.at[d] == windows_.axis[d].outputs; --d) at.at[d] = 0;
  }
  for (int64_t tap = 0; tap < taps_; ++tap) {
    const SpatialIndex place(tap, windows_.axis[1].taps, windows_.axis[2].taps);
    ptrdiff_t* const offsets = offsets_ + tap * loops_.columns;
    find_tap(place, origins, count, offsets);
    bool neighbors = offsets[0] != kOutside;
    for (int j = 1; j < loops_.columns; ++j) {
      neighbors = neighbors && offsets[j] == offsets[0] + j;
    }
    starts_[tap] = neighbors ? offsets[0] : kOutside;
  }
}

void WindowPanels::find_tap(const SpatialIndex& tap, const Place* origins, int64_t count,
                            ptrdiff_t* offsets) const {
  std::fill_n(offsets, loops_.columns, kOutside);
  int64_t shifts[kSpatial];
  for (int d = 0; d < kSpatial; ++d) shifts[d] = tap.at[d] * windows_.axis[d].tap_shift;
  for (int64_t j = 0; j < count; ++j) {
    int64_t offset = 0;
    bool inside = true;
    for (int d = 0; d < kSpatial; ++d) {
      const int64_t at = origins[j][d] + shifts[d];
      inside = inside && windows_.axis[d].inside(at);
      offset += inside ? at * image_.strides[d] : 0;  // far outside, the product would overflow
    }
    if (inside) offsets[j] = static_cast<ptrdiff_t>(offset);
  }
}

}  // namespace executorch::kernels::quantized
