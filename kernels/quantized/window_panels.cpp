// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/quantized/window_panels.h>

namespace executorch::kernels::quantized {

using namespace portable;

void WindowPanels::make(const Plane& image, int64_t channels, int64_t first, int64_t count,
                        Factor* to) {
  find_offsets(image, first, count);
  int8_t room[kTogether][IntegerLoops::kMostColumns];
  const int8_t* rows[kTogether];
  int held = 0;
  const auto place = [&](const int8_t* row) {
    rows[held++] = row;
    if (held < kTogether) return;
    loops_.interleave(rows, to);
    to += kTogether * loops_.columns;
    held = 0;
  };
  for (int64_t c = 0; c < channels; ++c) {
    const auto* channel = reinterpret_cast<const int8_t*>(image.data + c * image.channel_stride);
    for (int64_t tap = 0; tap < taps_; ++tap) place(row(channel, tap, room[held]));
  }
  if constexpr (kTogether > 1) {
    if (held == 0) return;
    std::fill_n(room[held], loops_.columns, int8_t(0));  // what is multiplied with nothing
    place(room[held]);
  }
}

// One row of the matrix: where it stands, or gathered into `room`.
const int8_t* WindowPanels::row(const int8_t* channel, int64_t tap, int8_t* room) const {
  if (starts_[tap] != kOutside) return channel + starts_[tap];
  const ptrdiff_t* const offsets = offsets_ + tap * loops_.columns;
  for (int j = 0; j < loops_.columns; ++j) {
    room[j] = offsets[j] == kOutside ? padding_ : channel[offsets[j]];
  }
  return room;
}

void WindowPanels::find_offsets(const Plane& image, int64_t first, int64_t count) {
  int64_t origins[IntegerLoops::kMostColumns][kSpatial];
  for (int64_t j = 0; j < count; ++j) {
    const SpatialIndex at = output_index(windows_, first + j);
    for (int d = 0; d < kSpatial; ++d) origins[j][d] = windows_.axis[d].input(at.at[d], 0);
  }
  for (int64_t tap = 0; tap < taps_; ++tap) {
    const SpatialIndex at(tap, windows_.axis[1].taps, windows_.axis[2].taps);
    ptrdiff_t* const offsets = offsets_ + tap * loops_.columns;
    find_tap(image, at, origins, count, offsets);
    bool neighbours = offsets[0] != kOutside;
    for (int j = 1; j < loops_.columns; ++j) {
      neighbours = neighbours && offsets[j] == offsets[0] + j;
    }
    starts_[tap] = neighbours ? offsets[0] : kOutside;
  }
}

void WindowPanels::find_tap(const Plane& image, const SpatialIndex& tap,
                            const int64_t (*origins)[kSpatial], int64_t count, ptrdiff_t* offsets) {
  for (int64_t j = 0; j < loops_.columns; ++j) {
    int64_t offset = 0;
    bool inside = j < count;
    for (int d = 0; d < kSpatial && inside; ++d) {
      const int64_t at = origins[j][d] + tap.at[d] * windows_.axis[d].tap_shift;
      inside = windows_.axis[d].inside(at);
      offset += at * image.strides[d];
    }
    offsets[j] = inside ? static_cast<ptrdiff_t>(offset) : kOutside;
  }
}

}  // namespace executorch::kernels::quantized
