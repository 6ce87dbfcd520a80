// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <algorithm>
#include <cmath>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/eltwise/eltwise.h>
#include <executorch/kernels/engine/simd/float_math.h>
#include <executorch/kernels/engine/threads.h>

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

}  // namespace
}  // namespace executorch::kernels::engine

#define ET_SIMD_SOURCE <executorch/kernels/engine/eltwise/binary.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {
namespace {

/// Dimensions without those of size 1, neighbors joined where both operands allow.
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
  const RunFunction function = ET_SIMD_FUNCTION(set, binary_function)(call.function);
  // Long runs are divided; short ones are taken several at a time.
  const size_t parts = divide_up(inner, kElementsOfItem), part = divide_up(inner, parts);
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
