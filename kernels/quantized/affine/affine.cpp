// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/dtype/promote.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/loops/memory/loop_nest.h>
#include <executorch/kernels/quantized/affine/affine.h>

#include <cmath>
#include <limits>

namespace executorch::kernels::quantized {

namespace {

/// Rounds to the nearest integer, ties to even. Beyond 2^23 (2^52) all values are integers.
template <class C>
inline C round_even(C value) {
  constexpr C kWhole = std::is_same_v<C, float> ? C(8388608.0) : C(4503599627370496.0);
  const C size = std::fabs(value);
  const C rounded = size < kWhole ? (size + kWhole) - kWhole : size;
  return std::copysign(rounded, value);
}

/// Dtypes to which each step is rounded, if they are narrower than C.
struct Steps {
  ScalarType first, second;
  bool are_exact;
};

template <class C>
inline C step(ScalarType dtype, C value) {
  return static_cast<C>(rounded_to(dtype, static_cast<double>(value)));
}

/// Keeps NaN, for the conversion to decide its result.
template <class C>
inline C clamp(C value, C quant_min, C quant_max) {
  value = value < quant_min ? quant_min : value;
  return value > quant_max ? quant_max : value;
}

template <class C>
struct Row {
  const C* from;
  C* to;
  int64_t n;
  C quant_min, quant_max;
};

template <class C, Added added>
void quantize_uniform(const Row<C>* row, C scale, C zero_point) {
  const C quant_min = row->quant_min, quant_max = row->quant_max;
  for (int64_t i = 0; i < row->n; ++i) {
    const C product = row->from[i] * scale;
    const C sum = added == Added::BeforeRounding ? round_even(product + zero_point)
                                                 : round_even(product) + zero_point;
    row->to[i] = clamp(sum, quant_min, quant_max);
  }
}

template <class C, Added added>
void quantize_each(const Row<C>& row, const Steps& steps, const char* parameters, int64_t stride) {
  for (int64_t i = 0; i < row.n; ++i) {
    const auto& p = *reinterpret_cast<const Parameters*>(parameters + i * stride);
    const C product = step(steps.first, row.from[i] * static_cast<C>(p.scale));
    const C zero_point = static_cast<C>(p.zero_point);
    const C sum = added == Added::BeforeRounding
                      ? round_even(step(steps.second, product + zero_point))
                      : step(steps.second, round_even(product) + zero_point);
    row.to[i] = clamp(sum, row.quant_min, row.quant_max);
  }
}

template <class C, Added added>
void quantize_in(const Strided& out, const Strided& numbers, const Strided& places,
                 const Steps& steps, int64_t quant_min, int64_t quant_max) {
  const LoopNest nest(out, numbers, places);
  const Convert store_integers = store(compute_type<C>, out.dtype);
  Reader<C> reader(numbers.dtype);
  // The reference clamps in the dtype of the sum, too.
  const C lowest = step(steps.second, static_cast<C>(quant_min));
  const C highest = step(steps.second, static_cast<C>(quant_max));
  C results[kBlock];
  nest.for_each_row([&](char* const* at) {
    for (int64_t first = 0; first < nest.row(); first += kBlock) {
      const int64_t n = nest.row() - first < kBlock ? nest.row() - first : kBlock;
      const C* const from = reader(at[1] + first * nest.stride(1), nest.stride(1), n);
      const Row<C> row{from, results, n, lowest, highest};
      const char* const parameters = at[2] + first * nest.stride(2);
      if (nest.stride(2) == 0 && steps.are_exact) {
        const auto& p = *reinterpret_cast<const Parameters*>(parameters);
        in_vectors([](const Row<C>* r, C scale,
                      C zero_point) { quantize_uniform<C, added>(r, scale, zero_point); },
                   &row, static_cast<C>(p.scale), static_cast<C>(p.zero_point));
      } else {
        quantize_each<C, added>(row, steps, parameters, nest.stride(2));
      }
      store_integers(at[0] + first * nest.stride(0), nest.stride(0),
                     reinterpret_cast<const char*>(results), sizeof(C), n);
    }
  });
}

template <class C>
void quantize_in(const Strided& out, const Strided& numbers, const Strided& places, Added added,
                 const Steps& steps, int64_t quant_min, int64_t quant_max) {
  if (added == Added::BeforeRounding) {
    quantize_in<C, Added::BeforeRounding>(out, numbers, places, steps, quant_min, quant_max);
  } else {
    quantize_in<C, Added::AfterRounding>(out, numbers, places, steps, quant_min, quant_max);
  }
}

/// Truncates the difference of two integers to the dtype in which torch computes it.
inline int64_t cut(int64_t value, ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Byte:
      return static_cast<uint8_t>(value);
    case ScalarType::Char:
      return static_cast<int8_t>(value);
    case ScalarType::Short:
      return static_cast<int16_t>(value);
    case ScalarType::Int:
      return static_cast<int32_t>(value);
    case ScalarType::UInt16:
      return static_cast<uint16_t>(value);
    default:
      return value;
  }
}

struct Difference {
  bool of_integers;
  ScalarType dtype;  // of integers: cut to it; else rounded to it
};

/// For 8-bit integers with one small zero point: 32 bits are exact, and the loop vectorizes.
template <class T, class C>
void dequantize_uniform(const char* from, C* to, int64_t n, C scale, int32_t zero_point) {
  const T* const integers = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < n; ++i) {
    to[i] = static_cast<C>(static_cast<int32_t>(integers[i]) - zero_point) * scale;
  }
}

template <class C>
void dequantize_each(const int64_t* from, C* to, int64_t n, const Difference& difference,
                     ScalarType computed, const char* parameters, int64_t stride) {
  for (int64_t i = 0; i < n; ++i) {
    const auto& p = *reinterpret_cast<const Parameters*>(parameters + i * stride);
    C value;
    if (difference.of_integers) {
      const auto wide = static_cast<int64_t>(static_cast<uint64_t>(from[i]) -
                                             static_cast<uint64_t>(p.integer_zero));
      value = step(computed, static_cast<C>(cut(wide, difference.dtype)));
    } else {
      const C x = step(difference.dtype, static_cast<C>(from[i]));
      value = step(difference.dtype, x - static_cast<C>(p.zero_point));
    }
    to[i] = step(computed, value * static_cast<C>(p.scale));
  }
}

bool is_small(const Parameters& p) {
  return p.integer_zero > -(int64_t(1) << 30) && p.integer_zero < (int64_t(1) << 30);
}

template <class C>
void dequantize_in(const Strided& out, const Strided& integers, const Strided& places,
                   const Difference& difference, ScalarType computed) {
  const LoopNest nest(out, integers, places);
  const Convert store_numbers = store(compute_type<C>, out.dtype);
  const bool exact = computed == dtype_of(compute_type<C>);
  const bool is_byte = integers.dtype == ScalarType::Byte;
  // A difference that is cut to as few bits as its operands have wraps around.
  const bool wraps = difference.of_integers && size_of(difference.dtype) < 4;
  const bool narrow = exact && !wraps && size_of(integers.dtype) == 1;
  Reader<int64_t> reader(integers.dtype);
  C results[kBlock];
  nest.for_each_row([&](char* const* at) {
    for (int64_t first = 0; first < nest.row(); first += kBlock) {
      const int64_t n = nest.row() - first < kBlock ? nest.row() - first : kBlock;
      const char* const from = at[1] + first * nest.stride(1);
      const char* const parameters = at[2] + first * nest.stride(2);
      const auto& p = *reinterpret_cast<const Parameters*>(parameters);
      if (narrow && nest.stride(1) == 1 && nest.stride(2) == 0 && is_small(p) &&
          (difference.of_integers || p.zero_point == static_cast<double>(p.integer_zero))) {
        const auto loop = is_byte ? dequantize_uniform<uint8_t, C> : dequantize_uniform<int8_t, C>;
        loop(from, results, n, static_cast<C>(p.scale), static_cast<int32_t>(p.integer_zero));
      } else {
        dequantize_each(reader(from, nest.stride(1), n), results, n, difference, computed,
                        parameters, nest.stride(2));
      }
      store_numbers(at[0] + first * nest.stride(0), nest.stride(0),
                    reinterpret_cast<const char*>(results), sizeof(C), n);
    }
  });
}

}  // namespace

double rounded_to(ScalarType dtype, double value) {
  switch (dtype) {
    case ScalarType::Float:
      return static_cast<float>(value);
    case ScalarType::Half:
      return static_cast<float>(Half(static_cast<float>(value)));
    case ScalarType::BFloat16:
      return static_cast<float>(BFloat16(static_cast<float>(value)));
    default:
      return value;
  }
}

bool integer_limits(ScalarType dtype, int64_t* lowest, int64_t* highest) {
  bool known = false;
  const auto take = [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 4 &&
                  !std::is_same_v<T, uint32_t>) {
      *lowest = std::numeric_limits<T>::min();
      *highest = std::numeric_limits<T>::max();
      known = true;
    }
  };
  return visit(dtype, take) && known;
}

void quantize(const Strided& out, const Strided& numbers, const ParameterPlaces& parameters,
              Added added, int64_t quant_min, int64_t quant_max) {
  const ScalarType product = promote(numbers.dtype, parameters.scales);
  const ScalarType sum =
      parameters.has_integer_zeros() ? product : promote(product, parameters.zeros);
  const bool in_double = product == ScalarType::Double || sum == ScalarType::Double;
  const ScalarType own = in_double ? ScalarType::Double : ScalarType::Float;
  const Steps steps{product, sum, product == own && sum == own};
  if (in_double) {
    quantize_in<double>(out, numbers, parameters.places, added, steps, quant_min, quant_max);
  } else {
    quantize_in<float>(out, numbers, parameters.places, added, steps, quant_min, quant_max);
  }
}

void dequantize(const Strided& out, const Strided& integers, const ParameterPlaces& parameters,
                ScalarType computed) {
  const bool of_integers = parameters.has_integer_zeros();
  const Difference difference{
      of_integers, of_integers ? promote(integers.dtype, parameters.zeros) : parameters.zeros};
  if (computed == ScalarType::Double || difference.dtype == ScalarType::Double) {
    dequantize_in<double>(out, integers, parameters.places, difference, computed);
  } else {
    dequantize_in<float>(out, integers, parameters.places, difference, computed);
  }
}

}  // namespace executorch::kernels::quantized
