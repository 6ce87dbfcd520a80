// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// What is compiled several times, once for each instruction set, and chosen when the process first
// asks.
#pragma once

#include <executorch/kernels/gemm/tiles.h>
#include <executorch/kernels/recurrent/cell.h>

#include <cstdint>

namespace executorch::kernels::optimized {

/// Loops over contiguous float32. Input and output may be the same memory, else do not overlap.
struct Isa {
  using Map = void (*)(const float* in, float* out, int64_t n);

  const char* name;
  GemmTiles gemm;
  Cells cells;
  Map exp, sigmoid, tanh, erf, gelu, gelu_tanh;
  /// exp(x - max) / sum, and its logarithm, of one row.
  Map softmax, log_softmax;
  /// (x - mean) * rstd * weight + bias of one row; weight and bias may be null. Gives mean and
  /// rstd.
  void (*layer_norm)(const float* in, float* out, int64_t n, const float* weight, const float* bias,
                     float eps, float* mean, float* rstd);
  /// The sum of x, and of (x - center)^2.
  float (*sum)(const float* in, int64_t n);
  float (*squares)(const float* in, int64_t n, float center);
  /// (x - center) * factor + addend
  void (*scale)(const float* in, float* out, int64_t n, float center, float factor, float addend);
};

/// The best that this processor has.
const Isa& isa();

// What isa() chooses from. 16-byte vectors run everywhere.
const Isa& isa_plain();
#if defined(__x86_64__) || defined(_M_X64)
const Isa& isa_avx2();
const Isa& isa_avx512();
#endif

}  // namespace executorch::kernels::optimized
