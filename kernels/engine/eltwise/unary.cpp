// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <algorithm>
#include <cmath>
#include <limits>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/eltwise.h>
#include <executorch/kernels/engine/eltwise/activation.h>
#include <executorch/kernels/engine/row_items.h>
#include <executorch/kernels/engine/simd_dispatch.h>
#include <executorch/kernels/loops/float_math.h>

namespace executorch::kernels::engine {
namespace {

/// Numbers of a block: one outside of a formula's domain makes so many slow.
constexpr size_t kBlock = 256;

constexpr float kSmallestNormal = std::numeric_limits<float>::min();
constexpr float kLargest = std::numeric_limits<float>::max();

inline float exact_sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

/// A function: its formula, the domain of that, and what computes it beyond.
#define FUNCTION(Name, FORMULA, COVERS, EXACT)                                               \
  struct Name {                                                                              \
    static ET_VECTOR_INLINE float formula(float x, [[maybe_unused]] float a,                 \
                                          [[maybe_unused]] float b) {                        \
      return FORMULA;                                                                        \
    }                                                                                        \
    static ET_VECTOR_INLINE bool covers([[maybe_unused]] float x) { return COVERS; }         \
    static float exact([[maybe_unused]] float x, [[maybe_unused]] float a) { return EXACT; } \
  };
#define EVERYWHERE(Name, FORMULA) FUNCTION(Name, FORMULA, true, 0)
#define SHARED(name) (name<float, int32_t>(x))
// clang-format off
EVERYWHERE(AbsOf, std::fabs(x))
EVERYWHERE(CeilOf, std::ceil(x))
EVERYWHERE(ClampOf, x < a ? a : x > b ? b : x)
FUNCTION(CosOf, SHARED(float_cos), std::fabs(x) < 8192, std::cos(x))
FUNCTION(EluOf, x < 0 ? a * SHARED(float_expm1) : x, x < 88, x < 0 ? a * std::expm1(x) : x)
FUNCTION(ExpOf, SHARED(float_exp), (x < 88) & ((x > -87) | (x < -104)), std::exp(x))
EVERYWHERE(FloorOf, std::floor(x))
EVERYWHERE(GeluOf, SHARED(float_gelu))
EVERYWHERE(GeluTanhOf, SHARED(float_gelu_tanh))
EVERYWHERE(HardswishOf, x * (x + 3 < 0 ? 0.0f : x + 3 > 6 ? 6.0f : x + 3) * (1.0f / 6))
EVERYWHERE(LeakyReluOf, x < 0 ? a * x : x)
FUNCTION(LogOf, SHARED(float_log), (x >= kSmallestNormal) & (x <= kLargest), std::log(x))
EVERYWHERE(NegateOf, -x)
EVERYWHERE(ReciprocalOf, 1 / x)
EVERYWHERE(ReluOf, x < 0 ? 0.0f : x)
EVERYWHERE(RoundOf, std::nearbyint(x))
EVERYWHERE(RsqrtOf, 1 / std::sqrt(x))
FUNCTION(SigmoidOf, SHARED(float_sigmoid), x > -88, exact_sigmoid(x))
EVERYWHERE(SignOf, x > 0 ? 1.0f : x < 0 ? -1.0f : 0.0f)
FUNCTION(SinOf, SHARED(float_sin), std::fabs(x) < 8192, std::sin(x))
EVERYWHERE(SqrtOf, std::sqrt(x))
EVERYWHERE(SquareOf, x * x)
EVERYWHERE(TanhOf, SHARED(float_tanh))
// clang-format on
/// Below -88 the sigmoid is no normal number.
struct SiluOf {
  static ET_VECTOR_INLINE float formula(float x, float, float) {
    const float within = x < -88.0f ? -88.0f : x;
    const float sigmoid = float_sigmoid<float, int32_t>(within);
    return x * (x < -88.0f ? 0.0f : sigmoid);
  }
  static ET_VECTOR_INLINE bool covers(float) { return true; }
  static float exact(float, float) { return 0; }
};
#undef EVERYWHERE
#undef FUNCTION
#undef SHARED

template <class F>
void map(const float* in, float* out, size_t count, float a, float b) {
  for (size_t first = 0; first < count; first += kBlock) {
    const float* const from = in + first;
    float* const to = out + first;
    const size_t n = std::min(count - first, kBlock);
    uint32_t outside = 0;
    for (size_t i = 0; i < n; ++i) outside |= F::covers(from[i]) ? 0 : 1;
    if (outside == 0) {
      for (size_t i = 0; i < n; ++i) to[i] = F::formula(from[i], a, b);
    } else {
      for (size_t i = 0; i < n; ++i) to[i] = F::exact(from[i], a);
    }
  }
}

MapFunction function_of(Unary function, InstructionSet set) {
  switch (function) {
#define CASE(name)  \
  case Unary::name: \
    return compiled_for<map<name##Of>>(set);
    CASE(Abs)
    CASE(Ceil)
    CASE(Clamp)
    CASE(Cos)
    CASE(Elu)
    CASE(Exp)
    CASE(Floor)
    CASE(Gelu)
    CASE(GeluTanh)
    CASE(Hardswish)
    CASE(LeakyRelu)
    CASE(Log)
    CASE(Negate)
    CASE(Reciprocal)
    CASE(Relu)
    CASE(Round)
    CASE(Rsqrt)
    CASE(Sigmoid)
    CASE(Sign)
    CASE(Silu)
    CASE(Sin)
    CASE(Sqrt)
    CASE(Square)
    CASE(Tanh)
#undef CASE
  }
  return nullptr;
}

}  // namespace

MapFunction activation_function(Activation activation, InstructionSet set) {
  switch (activation) {
    case Activation::None:
      return nullptr;
    case Activation::Silu:
      return function_of(Unary::Silu, set);
    case Activation::Hardswish:
      return function_of(Unary::Hardswish, set);
    case Activation::Gelu:
      return function_of(Unary::Gelu, set);
    case Activation::GeluTanh:
      return function_of(Unary::GeluTanh, set);
    case Activation::Sigmoid:
      return function_of(Unary::Sigmoid, set);
    case Activation::Tanh:
      return function_of(Unary::Tanh, set);
  }
  return nullptr;
}

void unary(const UnaryCall& call, Threads& threads, InstructionSet set) {
  const MapFunction function = function_of(call.function, set);
  for_each_item(threads, divide_up(call.count, kNumbersOfItem), [&](size_t item, size_t) {
    const size_t first = item * kNumbersOfItem;
    function(call.in + first, call.out + first, std::min(kNumbersOfItem, call.count - first),
             call.a, call.b);
  });
}

}  // namespace executorch::kernels::engine
