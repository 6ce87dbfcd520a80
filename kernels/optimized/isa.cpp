// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/optimized/isa.h>

namespace executorch::kernels::optimized {
namespace {

const Isa& best() {
#if defined(__x86_64__) || defined(_M_X64)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    return isa_avx512();
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c"))
    return isa_avx2();
#endif
  return isa_plain();
}

}  // namespace

const Isa& isa() {
  static const Isa& chosen = best();
  return chosen;
}

}  // namespace executorch::kernels::optimized
