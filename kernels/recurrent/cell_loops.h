// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The steps of recurrent layers' cells for one instruction set. All is in an unnamed namespace,
// because every source that includes this must keep its own copy.
#pragma once

#include <executorch/kernels/engine/simd/float_math.h>
#include <executorch/kernels/loops/selection.h>
#include <executorch/kernels/recurrent/cell.h>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace executorch::kernels {
namespace {

template <class V, class I>
ET_VECTOR_INLINE V any_sigmoid(V x) {
  return float_sigmoid<V, I>(x < -88.0f ? all<V>(-88.0f) : x);
}

template <int kBytes>
struct FloatVectors {
  typedef float Floats __attribute__((vector_size(kBytes)));
  typedef int32_t Ints __attribute__((vector_size(kBytes)));
};

/// Units computed together, and their functions. A vector's type that depends on a template's
/// argument is one only where it is named through another template.
template <int kBytes>
struct FloatUnits {
  using Value = typename FloatVectors<kBytes>::Floats;
  using Ints = typename FloatVectors<kBytes>::Ints;
  static constexpr int64_t kCount = kBytes / 4;
  static ET_VECTOR_INLINE Value sigmoid(Value x) { return any_sigmoid<Value, Ints>(x); }
  static ET_VECTOR_INLINE Value tanh(Value x) { return float_tanh<Value, Ints>(x); }
  static ET_VECTOR_INLINE Value relu(Value x) { return x < 0.0f ? Value{} : x; }
};

struct FloatUnit {
  using Value = float;
  static constexpr int64_t kCount = 1;
  static ET_VECTOR_INLINE float sigmoid(float x) { return any_sigmoid<float, int32_t>(x); }
  static ET_VECTOR_INLINE float tanh(float x) { return float_tanh<float, int32_t>(x); }
  static ET_VECTOR_INLINE float relu(float x) { return x < 0.0f ? 0.0f : x; }
};

struct DoubleUnit {
  using Value = double;
  static constexpr int64_t kCount = 1;
  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
  static double tanh(double x) { return std::tanh(x); }
  static double relu(double x) { return x < 0 ? 0.0 : x; }
};

/// What units are computed in: as many together as fit into kBytes, the rest one by one.
template <class T, int kBytes>
struct Units {
  using Together = FloatUnits<kBytes>;
  using Single = FloatUnit;
};
template <>
struct Units<float, 4> {
  using Together = FloatUnit;
  using Single = FloatUnit;
};
template <int kBytes>
struct Units<double, kBytes> {
  using Together = DoubleUnit;
  using Single = DoubleUnit;
};

template <class V, class T>
ET_VECTOR_INLINE V at(const T* from) {
  V value;
  std::memcpy(&value, from, sizeof(V));
  return value;
}
template <class V, class T>
ET_VECTOR_INLINE void set(T* to, const V& value) {
  std::memcpy(to, &value, sizeof(V));
}

struct Lstm {
  template <class U, class T>
  static ET_VECTOR_INLINE void step(const T* x, const T* h, int64_t gates, const T*, T* state,
                                    T* out) {
    using V = typename U::Value;
    const auto gate = [&](int64_t g) __attribute__((always_inline)) {
      return at<V>(x + g * gates) + at<V>(h + g * gates);
    };
    const V added = U::sigmoid(gate(0)) * U::tanh(gate(2));
    const V cell = U::sigmoid(gate(1)) * at<V>(state) + added;
    set<V>(state, cell);
    set<V>(out, U::sigmoid(gate(3)) * U::tanh(cell));
  }
};

struct Gru {
  template <class U, class T>
  static ET_VECTOR_INLINE void step(const T* x, const T* h, int64_t gates, const T* bias, T* state,
                                    T* out) {
    using V = typename U::Value;
    const V reset = U::sigmoid(at<V>(x) + at<V>(h));
    const V keep = U::sigmoid(at<V>(x + gates) + at<V>(h + gates));
    const V fresh = U::tanh(at<V>(x + 2 * gates) + reset * (at<V>(h + 2 * gates) + at<V>(bias)));
    set<V>(out, (at<V>(state) - fresh) * keep + fresh);
  }
};

struct Tanh {
  template <class U, class T>
  static ET_VECTOR_INLINE void step(const T* x, const T* h, int64_t, const T*, T*, T* out) {
    using V = typename U::Value;
    set<V>(out, U::tanh(at<V>(x) + at<V>(h)));
  }
};

struct Relu {
  template <class U, class T>
  static ET_VECTOR_INLINE void step(const T* x, const T* h, int64_t, const T*, T*, T* out) {
    using V = typename U::Value;
    set<V>(out, U::relu(at<V>(x) + at<V>(h)));
  }
};

template <class Cell, class T, int kBytes>
void step_units(const T* x, const T* h, int64_t gates, const T* bias, T* state, T* out, int64_t n) {
  using Together = typename Units<T, kBytes>::Together;
  using Single = typename Units<T, kBytes>::Single;
  int64_t i = 0;
  for (; i + Together::kCount <= n; i += Together::kCount) {
    Cell::template step<Together>(x + i, h + i, gates, bias + i, state + i, out + i);
  }
  for (; i < n; ++i) {
    Cell::template step<Single>(x + i, h + i, gates, bias + i, state + i, out + i);
  }
}

/// Empty in a build without the dtypes that T computes.
template <class T, int kBytes>
constexpr CellSteps<T> cell_steps() {
  if constexpr (is_computed<T>) {
    return {&step_units<Lstm, T, kBytes>, &step_units<Gru, T, kBytes>, &step_units<Tanh, T, kBytes>,
            &step_units<Relu, T, kBytes>};
  } else {
    return {};
  }
}

}  // namespace
}  // namespace executorch::kernels
