// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <algorithm>
#include <cmath>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/eltwise.h>
#include <executorch/kernels/engine/row_items.h>
#include <executorch/kernels/engine/simd_dispatch.h>

namespace executorch::kernels::engine {
namespace {

/// A run of elements: operands lie `*_step` floats apart.
struct Run {
  const float *left, *right;
  size_t left_step, right_step;
  float* out;
  size_t count;
  float clamp_min, clamp_max;
};
using RunFunction = void (*)(const Run&);

#define FUNCTION(Name, FORMULA)                                                                 \
  struct Name {                                                                                 \
    static inline __attribute__((always_inline)) float of(float a, float b) { return FORMULA; } \
  };
FUNCTION(AddOf, a + b)
FUNCTION(SubtractOf, a - b)
FUNCTION(MultiplyOf, a* b)
FUNCTION(DivideOf, a / b)
FUNCTION(MinimumOf, ((a < b) | (a != a)) ? a : b)
FUNCTION(MaximumOf, ((a > b) | (a != a)) ? a : b)
FUNCTION(SquaredDifferenceOf, (a - b) * (a - b))
FUNCTION(PowerOf, std::pow(a, b))
FUNCTION(CopySignOf, std::copysign(a, b))
FUNCTION(PreluOf, a < 0 ? a * b : a)
#undef FUNCTION

inline __attribute__((always_inline)) float clamped(float x, float min, float max) {
  const float above = x < min ? min : x;  // NaN compares false and stays
  return above > max ? max : above;
}

/// Loops of their own for contiguous and for repeated operands.
template <class F>
void run_of(const Run& given) {
  const Run run = given;  // a copy that no store can alias
  const size_t n = run.count;
  if (run.left_step == 1 && run.right_step == 1) {
    for (size_t i = 0; i < n; ++i) {
      run.out[i] = clamped(F::of(run.left[i], run.right[i]), run.clamp_min, run.clamp_max);
    }
  } else if (run.left_step == 1 && run.right_step == 0) {
    const float right = *run.right;
    for (size_t i = 0; i < n; ++i) {
      run.out[i] = clamped(F::of(run.left[i], right), run.clamp_min, run.clamp_max);
    }
  } else if (run.left_step == 0 && run.right_step == 1) {
    const float left = *run.left;
    for (size_t i = 0; i < n; ++i) {
      run.out[i] = clamped(F::of(left, run.right[i]), run.clamp_min, run.clamp_max);
    }
  } else {
    for (size_t i = 0; i < n; ++i) {
      const float value = F::of(run.left[i * run.left_step], run.right[i * run.right_step]);
      run.out[i] = clamped(value, run.clamp_min, run.clamp_max);
    }
  }
}

RunFunction function_of(Binary function, InstructionSet set) {
  switch (function) {
#define CASE(name)   \
  case Binary::name: \
    return compiled_for<run_of<name##Of>>(set);
    CASE(Add)
    CASE(Subtract)
    CASE(Multiply)
    CASE(Divide)
    CASE(Minimum)
    CASE(Maximum)
    CASE(SquaredDifference)
    CASE(Power)
    CASE(CopySign)
    CASE(Prelu)
#undef CASE
  }
  return nullptr;
}

/// Dimensions without those of size 1, neighbours joined where both operands allow.
struct Dimensions {
  size_t rank = 0;
  size_t sizes[kMaxEltwiseRank], left[kMaxEltwiseRank], right[kMaxEltwiseRank];

  explicit Dimensions(const BinaryCall& call) {
    for (size_t d = 0; d < call.rank; ++d) {
      const size_t size = call.sizes[d], l = call.left_strides[d], r = call.right_strides[d];
      if (size == 1) continue;
      if (rank != 0 && left[rank - 1] == l * size && right[rank - 1] == r * size) {
        sizes[rank - 1] *= size;
        left[rank - 1] = l;
        right[rank - 1] = r;
        continue;
      }
      sizes[rank] = size;
      left[rank] = l;
      right[rank++] = r;
    }
    if (rank == 0) {
      sizes[0] = 1;
      left[0] = right[0] = 0;
      rank = 1;
    }
  }

  size_t inner() const { return sizes[rank - 1]; }
  size_t outer() const {
    size_t count = 1;
    for (size_t d = 0; d + 1 < rank; ++d) count *= sizes[d];
    return count;
  }
};

}  // namespace

void binary(const BinaryCall& call, Threads& threads, InstructionSet set) {
  const Dimensions dims(call);
  const size_t inner = dims.inner(), outer = dims.outer(), last = dims.rank - 1;
  if (inner * outer == 0) return;
  const RunFunction function = function_of(call.function, set);
  // Long runs are divided; short ones are taken several at a time.
  const size_t parts = divide_up(inner, kNumbersOfItem), part = divide_up(inner, parts);
  for_each_rows(threads, outer * parts, part, [&](size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) {
      const size_t begin = i % parts * part;
      if (begin >= inner) continue;
      size_t index = i / parts, left = begin * dims.left[last], right = begin * dims.right[last];
      for (size_t d = last; d-- > 0;) {
        const size_t coordinate = index % dims.sizes[d];
        index /= dims.sizes[d];
        left += coordinate * dims.left[d];
        right += coordinate * dims.right[d];
      }
      function({call.left + left, call.right + right, dims.left[last], dims.right[last],
                call.out + i / parts * inner + begin, std::min(part, inner - begin), call.clamp_min,
                call.clamp_max});
    }
  });
}

}  // namespace executorch::kernels::engine
