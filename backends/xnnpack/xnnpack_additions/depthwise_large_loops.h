// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The loops of depthwise_large.cc, which includes this file in a namespace for each processor, with
// PROCESSOR as what functions are compiled for. (Templates are not, where only their caller is.)

// Channels of a point of the image, each repeated for the channels of the result that it serves.
template <class T, size_t kLanes>
class Repeated {
 public:
  PROCESSOR Repeated(const Row& all, size_t channel) : _first(channel / all.repeats) {
    for (size_t i = 0; i < kLanes; ++i) {
      _lanes[i] = int32_t((channel + i) / all.repeats - _first);
    }
  }
  PROCESSOR __attribute__((always_inline)) typename Of<kLanes>::Vector load(
      const typename T::Number* point) const {
    return taken(T::template load<kLanes>(point + _first), _lanes);
  }
  // Whether load() stays within the channels that there are.
  INLINE bool is_within(const Row& all, size_t channel) {
    return channel / all.repeats + kLanes <= all.channels / all.repeats;
  }

 private:
  const size_t _first;
  typename Of<kLanes>::Ints _lanes;
};

// The same where each serves one. Also a single channel, however many it serves.
template <class T, size_t kLanes>
class Single {
 public:
  PROCESSOR Single(const Row& all, size_t channel)
      : _first(channel / (kLanes == 1 ? all.repeats : 1)) {}
  PROCESSOR __attribute__((always_inline)) typename Of<kLanes>::Vector load(
      const typename T::Number* point) const {
    return T::template load<kLanes>(point + _first);
  }
  INLINE bool is_within(const Row&, size_t) { return true; }

 private:
  const size_t _first;
};

// kPoints neighbours in kVectors vectors of kLanes channels.
template <class T, template <class, size_t> class Source, size_t kLanes, size_t kVectors,
          size_t kPoints>
PROCESSOR INLINE void sum_windows(const Row& all, const Source<T, kLanes>& source, size_t channel,
                                  size_t x) {
  using Number = typename T::Number;
  constexpr size_t kPacked = EXECUTORCH_PACKED_CHANNELS;
  const Packed<T> packed(all);
  typename Of<kLanes>::Vector sum[kVectors][kPoints];
  const Number* weights[kVectors];
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) {
    weights[v] = packed.weights(channel + v * kLanes);
#pragma GCC unroll 4
    for (size_t p = 0; p < kPoints; ++p) {
      sum[v][p] = T::template first<kLanes>(packed.bias(channel + v * kLanes));
    }
  }
  const void* const* const windows = all.input + x * all.step;
  for (size_t point = 0; point < all.points; ++point) {
    const Number* from[kPoints];
#pragma GCC unroll 4
    for (size_t p = 0; p < kPoints; ++p) {
      const void* const pointer = windows[p * all.step + point];
      const uintptr_t offset = pointer == all.zero ? 0 : all.input_offset;
      from[p] = reinterpret_cast<const Number*>(reinterpret_cast<uintptr_t>(pointer) + offset);
    }
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      const auto weight = T::template load<kLanes>(weights[v] + point * kPacked);
#pragma GCC unroll 4
      for (size_t p = 0; p < kPoints; ++p) {
        sum[v][p] += source.load(from[p] + v * kLanes) * weight;
      }
    }
  }
#pragma GCC unroll 4
  for (size_t p = 0; p < kPoints; ++p) {
    const uintptr_t to = reinterpret_cast<uintptr_t>(all.output) + (x + p) * all.output_stride;
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      const size_t at = channel + v * kLanes;
      T::template store<kLanes>(reinterpret_cast<Number*>(to) + at, sum[v][p], packed, at,
                                all.limits);
    }
  }
}

// All points of the row, of all channels that fill vectors.
template <class T, template <class, size_t> class Source, size_t kLanes, size_t kVectors,
          size_t kPoints>
PROCESSOR INLINE void sum_channels(const Row& all, size_t& channel) {
  constexpr size_t kStep = kLanes * kVectors;
  for (; channel + kStep <= all.channels && Source<T, kLanes>::is_within(all, channel);
       channel += kStep) {
    const Source<T, kLanes> source(all, channel);
    size_t x = 0;
    for (; x + kPoints <= all.width; x += kPoints) {
      sum_windows<T, Source, kLanes, kVectors, kPoints>(all, source, channel, x);
    }
    for (; x < all.width; ++x) sum_windows<T, Source, kLanes, kVectors, 1>(all, source, channel, x);
  }
}

template <class T, template <class, size_t> class Source, size_t kLanes>
PROCESSOR INLINE void sum_rest(const Row& all, size_t channel) {
  sum_channels<T, Source, kLanes, 1, 4>(all, channel);
  if constexpr (kLanes > 8) sum_channels<T, Source, 8, 1, 4>(all, channel);
  if constexpr (kLanes > 4) sum_channels<T, Source, 4, 1, 4>(all, channel);
  sum_channels<T, Single, 1, 1, 4>(all, channel);
}

template <class T, size_t kLanes, size_t kPoints>
PROCESSOR void sum_row(size_t channels, size_t width, const void** input, const void* weights,
                       void* output, intptr_t input_stride, size_t increment, size_t input_offset,
                       const void* zero, const void* params) {
  const auto& windows = *static_cast<const executorch_windows*>(params);
  const Row row = {.channels = channels,
                   .width = width,
                   .repeats = windows.repeats,
                   .input = input,
                   .points = windows.points,
                   .step = size_t(input_stride) / sizeof(void*),
                   .weights = weights,
                   .output = output,
                   .output_stride = channels * sizeof(typename T::Number) + increment,
                   .input_offset = input_offset,
                   .zero = zero,
                   .limits = windows.limits};
  if (row.repeats != 1) return sum_rest<T, Repeated, kLanes>(row, 0);
  size_t channel = 0;
  sum_channels<T, Single, kLanes, 4, kPoints>(row, channel);
  sum_rest<T, Single, kLanes>(row, channel);
}
