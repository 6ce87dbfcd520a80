// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Compiled for AVX2 by the CMake file. Everything that it includes is in unnamed namespaces, so
// that other files do not link with AVX2 code.
#include <executorch/kernels/quantized/int8/integer_loops.h>

#if ET_PAIRED_PRODUCTS && defined(__x86_64__)
#include <executorch/kernels/quantized/int8/integer_vectors.h>

namespace executorch::kernels::quantized {

const IntegerLoops& integer_loops_avx2() { return kLoops; }

}  // namespace executorch::kernels::quantized
#endif
