// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/quantized/conv/layer_product.h>
#include <executorch/kernels/quantized/conv/window_panels.h>

namespace executorch::kernels::quantized {

using namespace portable;

namespace {

// Bytes of panels kept for all rows of the weights, so that a widened row serves many columns. They
// fit the level 2 cache.
constexpr int64_t kPanelBytes = sizeof(Factor) > 1 ? 128 * 1024 : 0;

int64_t rounded_up(int64_t depth) { return (depth + kTogether - 1) / kTogether * kTogether; }

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

int64_t panels_of(const IntegerLoops& loops, const FusedLayer& layer) {
  return (layer.windows.outputs() + loops.columns - 1) / loops.columns;
}

Division division_of(const IntegerLoops& loops, const FusedLayer& layer) {
  const ConvGeometry& g = layer.geometry;
  return Division(panels_of(loops, layer), 1,
                  layer.windows.outputs() * layer.depth() * g.groups * g.out_channels,
                  kMinProducts);
}

/// The product of one image's windows with the weights.
class Product {
 public:
  Product(const IntegerLoops& loops, const FusedLayer& layer, const Plane& image, const Plane& out)
      : loops_(loops), layer_(layer), image_(image), out_(out) {
    depth_ = layer.depth();
    padded_depth_ = rounded_up(depth_);
    int64_t stride = 1;
    flat_ = true;
    for (int d = kSpatial - 1; d >= 0; --d) {
      const WindowAxis& axis = layer.windows.axis[d];
      flat_ = flat_ && axis.out_first == 0 && axis.out_step == 1 &&
              (axis.outputs == 1 || out.strides[d] == stride);
      stride *= axis.outputs;
    }
  }

  // Panels [begin, end), for all groups.
  void run(int64_t begin, int64_t end, const LayerProduct::Room& room, char* memory) const {
    const ConvGeometry& g = layer_.geometry;
    auto* const panels = reinterpret_cast<Factor*>(memory);
    auto* const rows = reinterpret_cast<Factor*>(memory + room.panel * room.panels);
    WindowPanels windows(loops_, layer_.windows, image_, layer_.padding,
                         memory + room.panel * room.panels + room.rows);
    const int64_t step = room.panel / int64_t(sizeof(Factor));
    for (int64_t at = begin; at < end; at += room.panels) {
      const int64_t count = std::min(room.panels, end - at);
      for (int64_t group = 0; group < g.groups; ++group) {
        const char* const image = image_.data + group * g.in_channels * image_.channel_stride;
        for (int64_t p = 0; p < count; ++p) {
          const int64_t first = (at + p) * loops_.columns;
          // With several groups, one panel is kept at a time.
          if (group == 0) windows.find(first, columns_at(first));
          windows.fill(image, g.in_channels, panels + p * step);
        }
        multiply(at, count, group * g.out_channels, panels, step, rows);
      }
    }
  }

 private:
  int64_t columns_at(int64_t first) const {
    return std::min<int64_t>(loops_.columns, layer_.windows.outputs() - first);
  }

  // The output channels of a group, from `channel` on.
  void multiply(int64_t at, int64_t count, int64_t channel, const Factor* panels, int64_t step,
                Factor* room) const {
    int32_t sums[IntegerLoops::kMaxRows * IntegerLoops::kMaxColumns];
    const int64_t last = channel + layer_.geometry.out_channels;
    for (int64_t row = channel; row < last; row += loops_.rows) {
      const int64_t n = std::min<int64_t>(loops_.rows, last - row);
      const Factor* const weights = factors(row, n, room);
      for (int64_t p = 0; p < count; ++p) {
        loops_.tile[n - 1](padded_depth_, weights, padded_depth_, panels + p * step, sums);
        if (layer_.excess != nullptr) subtract_excess(layer_.excess + row, n, sums);
        write(row, n, (at + p) * loops_.columns, sums);
      }
    }
  }

  void subtract_excess(const int32_t* excess, int64_t rows, int32_t* sums) const {
    for (int64_t i = 0; i < rows; ++i) {
      for (int j = 0; j < loops_.columns; ++j) sums[i * loops_.columns + j] -= excess[i];
    }
  }

  const Factor* factors(int64_t channel, int64_t n, Factor* room) const {
    const int8_t* const from = layer_.weight + channel * depth_;
    if constexpr (sizeof(Factor) == sizeof(int8_t)) {
      return reinterpret_cast<const Factor*>(from);
    } else {
      for (int64_t i = 0; i < n; ++i) {
        loops_.widen(from + i * depth_, room + i * padded_depth_, depth_);
        if (padded_depth_ > depth_) room[i * padded_depth_ + depth_] = 0;
      }
      return room;
    }
  }

  // `rows` channels at the positions from `first` on.
  void write(int64_t channel, int64_t rows, int64_t first, const int32_t* sums) const {
    const int64_t n = columns_at(first);
    int8_t tile[IntegerLoops::kMaxRows * IntegerLoops::kMaxColumns];
    auto* const to = reinterpret_cast<int8_t*>(out_.data) + channel * out_.channel_stride;
    const bool direct = flat_ && n == loops_.columns;
    loops_.requantize_tile(sums, rows, layer_.scales + channel, layer_.offsets + channel,
                           layer_.limits, direct ? to + first : tile,
                           direct ? out_.channel_stride : loops_.columns);
    for (int64_t j = 0; j < n && !direct; ++j) {
      int8_t* const at = to + (out_.at(place_of(first + j).at) - out_.data);
      for (int64_t i = 0; i < rows; ++i) at[i * out_.channel_stride] = tile[i * loops_.columns + j];
    }
  }

  // The index of a position in the result.
  SpatialIndex place_of(int64_t position) const {
    SpatialIndex place = output_index(layer_.windows, position);
    for (int d = 0; d < kSpatial; ++d) {
      const WindowAxis& axis = layer_.windows.axis[d];
      place.at[d] = axis.out_first + place.at[d] * axis.out_step;
    }
    return place;
  }

  const IntegerLoops& loops_;
  const FusedLayer& layer_;
  const Plane image_, out_;
  int64_t depth_, padded_depth_;
  bool flat_;  ///< neighboring positions of the result are neighbors in memory
};

}  // namespace

char* part_rooms(KernelRuntimeContext& ctx, Division& division, int64_t bytes) {
  while (true) {
    const int64_t all = bytes * division.parts();
    // On 32 bits, all parts may need more than size_t counts.
    using Memory = runtime::Result<void*>;
    const Memory taken = uint64_t(all) <= SIZE_MAX / 2
                             ? ctx.allocate_temp(size_t(all), 64)
                             : Memory(runtime::Error::MemoryAllocationFailed);
    if (taken.ok()) return static_cast<char*>(*taken);
    if (division.parts() == 1) {
      ET_LOG(Error, "%" PRId64 " bytes of temporary memory are needed", bytes);
      ctx.fail(taken.error());
      return nullptr;
    }
    division.limit(1);
  }
}

LayerProduct::Room::Room(const IntegerLoops& loops, const FusedLayer& largest) {
  const int64_t k = rounded_up(largest.depth());
  panel = aligned(k * loops.columns * int64_t(sizeof(Factor)));
  panels = largest.geometry.groups > 1 || panel == 0
               ? 1
               : std::clamp<int64_t>(kPanelBytes / panel, 1, panels_of(loops, largest));
  rows = sizeof(Factor) > 1 ? aligned(loops.rows * k * int64_t(sizeof(Factor))) : 0;
  windows = aligned(WindowPanels::room(loops, largest.windows.taps()));
}

LayerProduct::LayerProduct(KernelRuntimeContext& ctx, const FusedLayer& largest)
    : loops_(integer_loops()), room_(loops_, largest) {
  Division division = division_of(loops_, largest);
  memory_ = part_rooms(ctx, division, std::max<int64_t>(room_.bytes(), 1));
  parts_ = division.parts();
}

void LayerProduct::run(const FusedLayer& layer, const Images& images, const Images& results) const {
  Division division = division_of(loops_, layer);
  division.limit(std::min(division.parts(), parts_));
  for (int64_t n = 0; n < layer.geometry.batch; ++n) {
    const Product product(loops_, layer, images.plane(n, 0), results.plane(n, 0));
    division.run([&](int64_t part, int64_t begin, int64_t end) {
      product.run(begin, end, room_, memory_ + part * room_.bytes());
    });
  }
}

}  // namespace executorch::kernels::quantized
