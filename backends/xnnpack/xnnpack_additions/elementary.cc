// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "elementary.h"

#include <executorch/kernels/loops/float_math.h>
#include <executorch/kernels/loops/wide.h>

#include <cmath>
#include <cstddef>
#include <limits>

#include "silu.h"
#include "xnnpack/fp16.h"

namespace {

using executorch::kernels::in_vectors;

// What is in the cache, and how many elements one outside of the formula makes slow.
constexpr size_t kBlock = 256;

float exact_sigmoid(float x) { return 1 / (1 + std::exp(-x)); }
float exact_gelu(float x) { return 0.5f * x * (1 + std::erf(x * 0.70710678118654752f)); }

// A function: by a formula, by the C library, and for which x the formula may be taken.
#define FUNCTION(NAME, FORMULA, EXACT, COVERS)                      \
  struct NAME {                                                     \
    static bool covers([[maybe_unused]] float x) { return COVERS; } \
    static float formula(float x) { return FORMULA; }               \
    static float exact(float x) { return EXACT; }                   \
  };
#define FORMULA(NAME) (executorch::kernels::NAME<float, int32_t>(x))
// clang-format off
FUNCTION(Exp, FORMULA(float_exp), std::exp(x), (x < 88) & ((x > -87) | (x < -104)))
FUNCTION(Log, FORMULA(float_log), std::log(x),
         (x >= std::numeric_limits<float>::min()) & (x <= std::numeric_limits<float>::max()))
FUNCTION(Sine, FORMULA(float_sin), std::sin(x), std::fabs(x) < 8192)  // digits are lost beyond
FUNCTION(Cosine, FORMULA(float_cos), std::cos(x), std::fabs(x) < 8192)
FUNCTION(Sigmoid, FORMULA(float_sigmoid), exact_sigmoid(x), x > -88)
FUNCTION(Gelu, FORMULA(float_gelu), exact_gelu(x), true)
FUNCTION(Sqrt, std::sqrt(x), std::sqrt(x), true)
FUNCTION(Rsqrt, 1 / std::sqrt(x), 1 / std::sqrt(x), true)
FUNCTION(Sign, static_cast<float>((x > 0) - (x < 0)), formula(x), true)
// clang-format on
#undef FORMULA
#undef FUNCTION

template <class F>
void of_block(const float* in, float* out, size_t n) {
  uint32_t outside = 0;
  for (size_t i = 0; i < n; ++i) outside |= !F::covers(in[i]);
  if (outside == 0) {
    for (size_t i = 0; i < n; ++i) out[i] = F::formula(in[i]);
  } else {
    for (size_t i = 0; i < n; ++i) out[i] = F::exact(in[i]);
  }
}
size_t least(size_t a, size_t b) { return a < b ? a : b; }

template <class F>
void of_numbers(size_t bytes, const void* input, void* output, const union xnn_unary_uparams*) {
  in_vectors(
      [](const float* in, float* out, size_t count) {
        for (size_t first = 0; first < count; first += kBlock) {
          of_block<F>(in + first, out + first, least(count - first, kBlock));
        }
      },
      static_cast<const float*>(input), static_cast<float*>(output), bytes / sizeof(float));
}

constexpr auto kWiden = [](const uint16_t* in, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = fp16_ieee_to_fp32_value(in[i]);
};
constexpr auto kNarrow = [](const float* in, uint16_t* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = fp16_ieee_from_fp32_value(in[i]);
};
template <class F>
void of_halves(size_t bytes, const void* input, void* output, const union xnn_unary_uparams* none) {
  const auto* const in = static_cast<const uint16_t*>(input);
  auto* const out = static_cast<uint16_t*>(output);
  const size_t count = bytes / sizeof(uint16_t);
  float numbers[kBlock];
  for (size_t first = 0; first < count; first += kBlock) {
    const size_t n = least(count - first, kBlock);
    in_vectors(kWiden, in + first, static_cast<float*>(numbers), n);
    of_numbers<F>(n * sizeof(float), numbers, numbers, none);
    in_vectors(kNarrow, static_cast<const float*>(numbers), out + first, n);
  }
}

struct Row {
  xnn_unary_operator op;
  xnn_datatype datatype;
  xnn_unary_elementwise_config config;
};
template <class F>
constexpr Row numbers(xnn_unary_operator op) {
  return {op, xnn_datatype_fp32, {of_numbers<F>, nullptr}};
}
template <class F>
constexpr Row halves(xnn_unary_operator op) {
  return {op, xnn_datatype_fp16, {of_halves<F>, nullptr}};
}

constexpr Row kRows[] = {
    numbers<Exp>(xnn_unary_exp),
    numbers<Sine>(xnn_unary_sine),
    numbers<Cosine>(xnn_unary_cosine),
    numbers<Sign>(xnn_unary_sign),
    halves<Exp>(xnn_unary_exp),
    halves<Log>(xnn_unary_log),
    halves<Sine>(xnn_unary_sine),
    halves<Cosine>(xnn_unary_cosine),
    halves<Gelu>(xnn_unary_gelu),
#if defined(__x86_64__) || defined(__i386__)
    numbers<Log>(xnn_unary_log),
    numbers<Sigmoid>(xnn_unary_sigmoid),
    {executorch_unary_silu, xnn_datatype_fp32, {executorch_silu, nullptr}},
    numbers<Sqrt>(xnn_unary_square_root),
    numbers<Rsqrt>(xnn_unary_reciprocal_square_root),
    halves<Sqrt>(xnn_unary_square_root),
    halves<Rsqrt>(xnn_unary_reciprocal_square_root),
#endif
};

}  // namespace

const xnn_unary_elementwise_config* executorch_elementary(xnn_unary_operator op,
                                                          xnn_datatype datatype) {
  for (const Row& row : kRows) {
    if (row.op == op && row.datatype == datatype) return &row.config;
  }
  return nullptr;
}
