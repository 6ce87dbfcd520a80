// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Compiles a loop three times on x86-64: for the baseline, for AVX2 and for AVX-512. The choice is
// made at run time. None uses fused multiply-add (cmake/kernel_libraries.cmake), so all compute the
// same bits. A build for size has one version, and so has a build that targets AVX2.
#pragma once

// True if the target has vector instructions. Without them, compilers split vectors into code that
// is many times as long. (Helium is not used, because devices with it are small.)
#if defined(__SSE2__) || defined(_M_X64) || defined(__ARM_NEON) || defined(__ALTIVEC__) || \
    defined(__wasm_simd128__) || defined(__loongarch_sx)
#define ET_HAS_VECTORS 1
#else
#define ET_HAS_VECTORS 0
#endif

#if defined(__x86_64__) && !defined(__AVX2__) && !defined(__OPTIMIZE_SIZE__)
#define ET_WIDE_VECTORS 1
#include <atomic>
#include <cstdint>
#endif

namespace executorch::kernels {

#if ET_WIDE_VECTORS
/// Instruction sets that loops are compiled for. Unknown: not detected yet.
enum class Vectors : uint8_t { Unknown, Every, Avx2, Avx512 };

/// The best instruction set of the processor. Tests set a lower one.
inline std::atomic<Vectors> vectors_used{Vectors::Unknown};

inline Vectors best_vectors() {
  if (!__builtin_cpu_supports("avx2")) return Vectors::Every;
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")
             ? Vectors::Avx512
             : Vectors::Avx2;
}
inline Vectors vectors() {
  const Vectors known = vectors_used.load(std::memory_order_relaxed);
  if (known != Vectors::Unknown) return known;
  const Vectors best = best_vectors();
  vectors_used.store(best, std::memory_order_relaxed);
  return best;
}

template <class Loop, class... Arguments>
__attribute__((target("avx2"), flatten)) void in_wide_vectors(Loop loop, Arguments... arguments) {
  loop(arguments...);
}
template <class Loop, class... Arguments>
__attribute__((target("avx2,avx512f,avx512vl,avx512dq,avx512bw"), flatten)) void in_widest_vectors(
    Loop loop, Arguments... arguments) {
  loop(arguments...);
}
/// Calls loop(arguments...); all that it calls is compiled into it.
template <class Loop, class... Arguments>
inline void in_vectors(Loop loop, Arguments... arguments) {
  switch (vectors()) {
    case Vectors::Avx512:
      return in_widest_vectors(loop, arguments...);
    case Vectors::Avx2:
      return in_wide_vectors(loop, arguments...);
    default:
      return loop(arguments...);
  }
}

/// A function for AVX2 with fused multiplication, or for AVX-512: for sums whose last bits may
/// differ. run() is the function, with all that it calls compiled into it.
template <auto function>
struct Fused;
template <class... Arguments, void (*function)(Arguments...)>
struct Fused<function> {
  __attribute__((target("avx2,fma"), flatten)) static void run(Arguments... arguments) {
    function(arguments...);
  }
};
template <auto function>
struct FusedWidest;
template <class... Arguments, void (*function)(Arguments...)>
struct FusedWidest<function> {
  __attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq"), flatten)) static void run(
      Arguments... arguments) {
    function(arguments...);
  }
};
inline bool has_fused() { return vectors() >= Vectors::Avx2 && __builtin_cpu_supports("fma"); }
inline bool has_fused_widest() { return has_fused() && vectors() == Vectors::Avx512; }
#else
template <class Loop, class... Arguments>
inline void in_vectors(Loop loop, Arguments... arguments) {
  loop(arguments...);
}
#endif

}  // namespace executorch::kernels
