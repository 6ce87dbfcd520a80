// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <algorithm>
#include <cmath>
#include <limits>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/eltwise/activation.h>
#include <executorch/kernels/engine/eltwise/eltwise.h>
#include <executorch/kernels/engine/simd/float_math.h>
#include <executorch/kernels/engine/threads.h>

#define ET_SIMD_SOURCE <executorch/kernels/engine/eltwise/unary.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {

MapFunction activation_function(Activation activation, InstructionSet set) {
  switch (activation) {
    case Activation::None:
      return nullptr;
    case Activation::Silu:
      return ET_SIMD_FUNCTION(set, unary_function)(Unary::Silu);
    case Activation::Hardswish:
      return ET_SIMD_FUNCTION(set, unary_function)(Unary::Hardswish);
    case Activation::Gelu:
      return ET_SIMD_FUNCTION(set, unary_function)(Unary::Gelu);
    case Activation::GeluTanh:
      return ET_SIMD_FUNCTION(set, unary_function)(Unary::GeluTanh);
    case Activation::Sigmoid:
      return ET_SIMD_FUNCTION(set, unary_function)(Unary::Sigmoid);
    case Activation::Tanh:
      return ET_SIMD_FUNCTION(set, unary_function)(Unary::Tanh);
  }
  return nullptr;
}

void unary(const UnaryCall& call, Threads& threads, InstructionSet set) {
  const MapFunction function = ET_SIMD_FUNCTION(set, unary_function)(call.function);
  for_each_item(threads, divide_up(call.count, kElementsOfItem), [&](size_t item, size_t) {
    const size_t first = item * kElementsOfItem;
    function(call.in + first, call.out + first, std::min(kElementsOfItem, call.count - first),
             call.a, call.b);
  });
}

}  // namespace executorch::kernels::engine
