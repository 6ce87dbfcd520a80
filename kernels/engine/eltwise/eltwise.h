// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Functions of each element of float32 tensors. NaN stays NaN (its sign is 0); minimum, maximum and
// clamp give NaN where an operand is NaN; sqrt, exp, log and the others give IEEE's results at
// zeros, infinities and beyond their domains (sqrt(-1) and log(-1) are NaN, log(0) is -infinity,
// exp(89) is infinity). Errors are within 6 units in the last place, of gelu 2e-6 where that is
// more. `out` may be an input of the same strides, else they must not overlap.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/epilogue.h>
#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

/// eltwise/functions.inc lists both kinds.
enum class Unary : uint8_t {
#define ET_UNARY(name) name,
#include <executorch/kernels/engine/eltwise/functions.inc>
#undef ET_UNARY
};

struct UnaryCall {
  Unary function = Unary::Abs;
  float a = 0, b = 0;  ///< parameters of some functions
  const float* in = nullptr;
  float* out = nullptr;
  size_t count = 0;
};
void unary(const UnaryCall& call, Threads& threads, InstructionSet set = instruction_set());

enum class Binary : uint8_t {
#define ET_BINARY(name) name,
#include <executorch/kernels/engine/eltwise/functions.inc>
#undef ET_BINARY
};

inline constexpr size_t kMaxEltwiseRank = 8;

/// out[i…] = clamp(left[i…] op right[i…]). Strides count floats; 0 broadcasts. `out` is contiguous.
struct BinaryCall {
  Binary function = Binary::Add;
  size_t rank = 0;
  const size_t *sizes = nullptr, *left_strides = nullptr, *right_strides = nullptr;
  const float *left = nullptr, *right = nullptr;
  float* out = nullptr;
  float clamp_min = -INFINITY, clamp_max = INFINITY;
};
void binary(const BinaryCall& call, Threads& threads, InstructionSet set = instruction_set());

}  // namespace executorch::kernels::engine
