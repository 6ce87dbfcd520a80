// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Compiled for AVX2: see the CMake file. It must not leave code of its own for others to link to:
// what it includes is in unnamed namespaces.
#include <executorch/kernels/quantized/int8/integer_loops.h>

#if ET_PAIRED_PRODUCTS && defined(__x86_64__)
#include <executorch/kernels/quantized/int8/integer_vectors.h>

namespace executorch::kernels::quantized {

const IntegerLoops& integer_loops_avx2() { return kLoops; }

}  // namespace executorch::kernels::quantized
#endif
