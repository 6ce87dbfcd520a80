// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// One source of a loop, compiled for each instruction set and chosen at run time. Loops are written
// over plain floats, for the compiler's vectorizer, or over vectors of kBytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/instruction_set.h>

namespace executorch::kernels::engine {

/// A function with all that it calls compiled into it, for one instruction set.
template <auto function>
struct Compiled;
template <class Return, class... Arguments, Return (*function)(Arguments...)>
struct Compiled<function> {
#if defined(__x86_64__)
  __attribute__((target("avx2,fma"), flatten)) static Return avx2(Arguments... arguments) {
    return function(arguments...);
  }
  __attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw"), flatten)) static Return
  avx512(Arguments... arguments) {
    return function(arguments...);
  }
#endif
};

/// The form of `function` for a set.
template <auto function>
inline auto compiled_for([[maybe_unused]] InstructionSet set) -> decltype(function) {
#if defined(__x86_64__)
  if (set >= InstructionSet::Avx512) return &Compiled<function>::avx512;
  if (set >= InstructionSet::Avx2) return &Compiled<function>::avx2;
#endif
  return function;
}

/// The same for a template over the bytes of a vector.
#if defined(__x86_64__)
#define ET_COMPILED_FOR(set, function)                               \
  ((set) >= InstructionSet::Avx512 ? &Compiled<function<64>>::avx512 \
   : (set) >= InstructionSet::Avx2 ? &Compiled<function<32>>::avx2   \
                                   : &function<16>)
#else
#define ET_COMPILED_FOR(set, function) (compiled_for<function<16>>(set))
#endif

}  // namespace executorch::kernels::engine
