// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/quantized/int8/integer_vectors.h>

namespace executorch::kernels::quantized {

const IntegerLoops& integer_loops() {
#if ET_PAIRED_PRODUCTS && defined(__x86_64__)
  static const IntegerLoops& chosen =
      __builtin_cpu_supports("avx2") ? integer_loops_avx2() : kLoops;
  return chosen;
#else
  return kLoops;
#endif
}

}  // namespace executorch::kernels::quantized
