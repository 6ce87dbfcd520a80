// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "depthwise_large.h"

#include "depthwise_rows.h"
#include "float_lanes.h"
#include "xnnpack/hardware-config.h"
#include "xnnpack/microparams.h"

#if XNN_ARCH_X86_64
#include <immintrin.h>
#endif

namespace {

using executorch_lanes::at;
using executorch_lanes::Of;

// What a row of points of the result is computed from. Offsets and strides are bytes.
struct Row {
  size_t channels, width;    // of the result
  size_t repeats;            // channels of the result for each one of the image
  const void* const* input;  // to the points of the windows
  size_t points;             // of a window
  size_t step;               // pointers, from one window to the next
  const void* weights;
  void* output;
  size_t output_stride;
  size_t input_offset;  // moves what `input` points at, but for `zero`
  const void* zero;
  const void* limits;
};

// Where the weights of channels are.
template <class T>
class Packed {
 public:
  explicit Packed(const Row& all)
      : _begin(static_cast<const char*>(all.weights)), _points(all.points) {}

  const typename T::Bias* bias(size_t channel) const {
    return in_block<typename T::Bias>(channel, 0);
  }
  const typename T::Number* weights(size_t channel) const {
    return in_block<typename T::Number>(channel, sizeof(typename T::Bias));
  }
  const float* scales(size_t channel) const {
    return in_block<float>(channel,
                           sizeof(typename T::Bias) + _points * sizeof(typename T::Number));
  }

 private:
  // before: bytes of a channel.
  template <class Member>
  const Member* in_block(size_t channel, size_t before) const {
    const size_t each =
        sizeof(typename T::Bias) + _points * sizeof(typename T::Number) + T::kBytesOfScale;
    const size_t bytes = channel / kChannels * each + before;
    return reinterpret_cast<const Member*>(_begin + bytes * kChannels) + channel % kChannels;
  }

  static constexpr size_t kChannels = EXECUTORCH_PACKED_CHANNELS;
  const char* const _begin;
  const size_t _points;
};

// NaN stays.
template <class Vector>
INLINE void limit(Vector& sum, float least, float most) {
  const Vector low = Vector{} + least, high = Vector{} + most;
  sum = sum < low ? low : sum;
  sum = sum > high ? high : sum;
}

// The numbers at `places`.
template <class Vector, class Ints>
INLINE Vector taken(const Vector& from, const Ints& places) {
#ifdef __clang__
  Vector to;
  for (size_t i = 0; i < sizeof(Vector) / sizeof(float); ++i) to[i] = from[places[i]];
  return to;
#else
  return __builtin_shuffle(from, places);
#endif
}

// What images, weights and results are made of: how that becomes vectors of float, and the reverse.
struct Floats {
  using Number = float;
  using Bias = float;
  static constexpr size_t kBytesOfScale = 0;

  template <size_t kLanes>
  INLINE typename Of<kLanes>::Vector load(const float* from) {
    return at<kLanes>(from);
  }
  template <size_t kLanes>
  INLINE typename Of<kLanes>::Vector first(const float* bias) {
    return at<kLanes>(bias);
  }
  template <size_t kLanes>
  INLINE void store(float* to, typename Of<kLanes>::Vector sum, const Packed<Floats>&, size_t,
                    const void* limits) {
    const auto& of = static_cast<const xnn_f32_minmax_params*>(limits)->scalar;
    limit(sum, of.min, of.max);
    at<kLanes>(to) = sum;
  }
};

#define PROCESSOR
namespace plain {
#include "depthwise_large_loops.h"
}
#undef PROCESSOR

#if XNN_ARCH_X86_64
#define PROCESSOR AVX512
namespace avx512 {
#include "depthwise_large_loops.h"
}
#undef PROCESSOR

#define PROCESSOR __attribute__((target("avx2,fma,f16c")))
namespace avx2 {
#include "depthwise_large_loops.h"

struct Halves {
  using Number = uint16_t;
  using Bias = uint16_t;
  static constexpr size_t kBytesOfScale = 0;

  template <size_t kLanes>
  PROCESSOR INLINE typename Of<kLanes>::Vector load(const uint16_t* from) {
    if constexpr (kLanes == 8) {
      return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    } else if constexpr (kLanes == 4) {
      return _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
    } else {
      return _cvtsh_ss(*from);
    }
  }
  template <size_t kLanes>
  PROCESSOR INLINE typename Of<kLanes>::Vector first(const uint16_t* bias) {
    return load<kLanes>(bias);
  }
  template <size_t kLanes>
  PROCESSOR INLINE void store(uint16_t* to, typename Of<kLanes>::Vector sum, const Packed<Halves>&,
                              size_t, const void* limits) {
    const auto* const of = static_cast<const uint16_t*>(limits);
    limit(sum, _cvtsh_ss(of[0]), _cvtsh_ss(of[1]));
    if constexpr (kLanes == 8) {
      const __m128i halves = _mm256_cvtps_ph(sum, _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), halves);
    } else if constexpr (kLanes == 4) {
      const __m128i halves = _mm_cvtps_ph(sum, _MM_FROUND_TO_NEAREST_INT);
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to), halves);
    } else {
      *to = _cvtss_sh(sum, _MM_FROUND_TO_NEAREST_INT);
    }
  }
};
static_assert(sizeof(xnn_f16_minmax_params) == 2 * sizeof(uint16_t), "two limits");

// Sums of products of int8 are exact in floats: no more are taken than that
// (depthwise_large_operator.h).
struct Integers {
  using Number = int8_t;
  using Bias = int32_t;
  static constexpr size_t kBytesOfScale = sizeof(float);

  template <size_t kLanes>
  PROCESSOR INLINE typename Of<kLanes>::Vector load(const int8_t* from) {
    if constexpr (kLanes == 8) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
      return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
    } else if constexpr (kLanes == 4) {
      return _mm_cvtepi32_ps(_mm_cvtepi8_epi32(_mm_loadu_si32(from)));
    } else {
      return float(*from);
    }
  }
  template <size_t kLanes>
  PROCESSOR INLINE typename Of<kLanes>::Vector first(const int32_t*) {
    return typename Of<kLanes>::Vector{};
  }
  template <size_t kLanes>
  PROCESSOR INLINE void store(int8_t* to, typename Of<kLanes>::Vector sum,
                              const Packed<Integers>& packed, size_t channel, const void* limits) {
    const auto& of = static_cast<const xnn_qs8_qc8w_conv_minmax_params*>(limits)->fp32_scalar;
    const int32_t zero = of.output_zero_point;
    const float least = float(of.output_min - zero), most = float(of.output_max - zero);
    const int32_t* const bias = packed.bias(channel);
    const float* const scales = packed.scales(channel);
    float sums[kLanes];
    at<kLanes>(sums) = sum;
    for (size_t i = 0; i < kLanes; ++i) {
      // Wraps, as XNNPACK's sums do.
      const int32_t total = int32_t(uint32_t(int32_t(sums[i])) + uint32_t(bias[i]));
      float scaled = float(total) * scales[i];
      limit(scaled, least, most);
      to[i] = int8_t(_mm_cvtss_si32(_mm_set_ss(scaled)) + zero);  // to the nearest, then even
    }
  }
};
}  // namespace avx2
#undef PROCESSOR
#endif

}  // namespace

extern "C" executorch_row_of_windows* executorch_find_row_of_windows(
    enum executorch_windows_type type) {
#if XNN_ARCH_X86_64
  const struct xnn_hardware_config* const has = xnn_init_hardware_config();
  if (has == nullptr) return nullptr;
  const bool is_fused = has->use_x86_avx2 && has->use_x86_fma3 && has->use_x86_f16c;
  switch (type) {
    case executorch_floats:
      if (has->use_x86_avx512f) return avx512::sum_row<Floats, 16, 4>;
      return is_fused ? avx2::sum_row<Floats, 8, 3> : plain::sum_row<Floats, 4, 3>;
    case executorch_halves:
      return is_fused ? avx2::sum_row<avx2::Halves, 8, 2> : nullptr;
    case executorch_integers:
      return is_fused ? avx2::sum_row<avx2::Integers, 8, 2> : nullptr;
  }
  return nullptr;
#else
  return type == executorch_floats ? plain::sum_row<Floats, 4, 4> : nullptr;
#endif
}

extern "C" executorch_row_of_windows* executorch_find_row_of_single_windows(
    enum executorch_windows_type type, size_t points) {
#if XNN_ARCH_X86_64
  const struct xnn_hardware_config* const has = xnn_init_hardware_config();
  if (has != nullptr && has->use_x86_avx512f && type == executorch_floats && points == 49) {
    return reinterpret_cast<executorch_row_of_windows*>(executorch_f32_depthwise_49p16c_avx512);
  }
#endif
  return executorch_find_row_of_windows(type);
}
