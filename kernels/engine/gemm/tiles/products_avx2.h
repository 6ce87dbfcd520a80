// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Products of up to 6 rows and a panel of 16 columns for AVX2 and FMA. The loops are assembly: 12
// sums, two vectors of weights and two elements take all 16 registers, and compilers (GCC 12) spill
// sums.
#pragma once

#if defined(__x86_64__)
#include <cstddef>
#include <cstdint>

namespace executorch::kernels::engine::gemm_avx2 {

inline constexpr size_t kRows = 6, kPanel = 16;

/// Operands of the assembly, which contains the offsets of these fields. Rows beyond the last one
/// compute and write the same numbers as that one. Lengths are bytes.
struct Operands {
  const float* from[kRows];  ///< the beginnings of the sums, 16 floats each
  float* to[kRows];
  float clamp_min, clamp_max;
  intptr_t depth;           ///< of a part, negative
  size_t prefetched;        ///< for each part
  const void* end_of_rows;  ///< after the last part's pointers
  size_t residual;          ///< from a result to its residual, modulo 2^64
  uint8_t has_bias;         ///< sums begin with the numbers in front of the weights, not at `from`
  uint8_t has_residual;
};
static_assert(offsetof(Operands, to) == 48 && offsetof(Operands, clamp_min) == 96 &&
              offsetof(Operands, clamp_max) == 100 && offsetof(Operands, depth) == 104 &&
              offsetof(Operands, prefetched) == 112 && offsetof(Operands, end_of_rows) == 120 &&
              offsetof(Operands, residual) == 128 && offsetof(Operands, has_bias) == 136 &&
              offsetof(Operands, has_residual) == 137);

// clang-format off
// Row r, `at` bytes after its element at k, times two vectors of weights.
#define TIMES_ROW(r, at, element, low, high)                     \
  "vbroadcastss " #at "(%[a" #r "],%[k]), %%ymm" #element "\n"   \
  "vfmadd231ps %%ymm12, %%ymm" #element ", %%ymm" #low "\n"      \
  "vfmadd231ps %%ymm13, %%ymm" #element ", %%ymm" #high "\n"
#define LOAD_WEIGHTS(w0, w1)         \
  "vmovaps " #w0 "(%[w]), %%ymm12\n" \
  "vmovaps " #w1 "(%[w]), %%ymm13\n"
// TIMES_ROW and LOAD_WEIGHTS for the first eight columns.
#define TIMES_ROW_LOW(r, at, element, low, high)                 \
  "vbroadcastss " #at "(%[a" #r "],%[k]), %%ymm" #element "\n"   \
  "vfmadd231ps %%ymm12, %%ymm" #element ", %%ymm" #low "\n"
#define LOAD_WEIGHTS_LOW(w0, w1) "vmovaps " #w0 "(%[w]), %%ymm12\n"
#define ROWS_OF_STEP_1(TIMES, at) TIMES(0, at, 14, 0, 1)
#define ROWS_OF_STEP_2(TIMES, at) ROWS_OF_STEP_1(TIMES, at) TIMES(1, at, 15, 2, 3)
#define ROWS_OF_STEP_4(TIMES, at) ROWS_OF_STEP_2(TIMES, at) TIMES(2, at, 14, 4, 5) TIMES(3, at, 15, 6, 7)
#define ROWS_OF_STEP_6(TIMES, at) ROWS_OF_STEP_4(TIMES, at) TIMES(4, at, 14, 8, 9) TIMES(5, at, 15, 10, 11)
#define STEP(rows, half, at, w0, w1) LOAD_WEIGHTS##half(w0, w1) ROWS_OF_STEP_##rows(TIMES_ROW##half, at)
// All parts: %[k] goes from minus a part's bytes to 0; rows and prefetched lines are given by their
// ends.
#define ALONG_PARTS(rows, half)      \
  "5:\n"                             \
  "mov (%[ends]), %[a0]\n"           \
  "mov 8(%[ends]), %[a1]\n"          \
  "mov 16(%[ends]), %[a2]\n"         \
  "mov 24(%[ends]), %[a3]\n"         \
  "mov 32(%[ends]), %[a4]\n"         \
  "mov 40(%[ends]), %[a5]\n"         \
  "mov 104(%[operands]), %[k]\n"     \
  "cmp $-16, %[k]\n"                 \
  "jg 2f\n"                          \
  ".p2align 5\n"                     \
  "1:\n"                             \
  "prefetcht0 (%[next],%[k],4)\n"    \
  STEP(rows, half, 0, 0, 32)         \
  STEP(rows, half, 4, 64, 96)        \
  STEP(rows, half, 8, 128, 160)      \
  STEP(rows, half, 12, 192, 224)     \
  "add $256, %[w]\n"                 \
  "add $16, %[k]\n"                  \
  "cmp $-16, %[k]\n"                 \
  "jle 1b\n"                         \
  "2:\n"                             \
  "test %[k], %[k]\n"                \
  "jz 4f\n"                          \
  "3:\n"                             \
  STEP(rows, half, 0, 0, 32)         \
  "add $64, %[w]\n"                  \
  "add $4, %[k]\n"                   \
  "jnz 3b\n"                         \
  "4:\n"                             \
  "add $48, %[ends]\n"               \
  "add 112(%[operands]), %[next]\n"  \
  "cmp 120(%[operands]), %[ends]\n"  \
  "jne 5b\n"
#define BEGIN_ROW(r, low, high)                  \
  "mov 8*" #r "(%[operands]), %[a0]\n"           \
  "vmovups (%[a0]), %%ymm" #low "\n"             \
  "vmovups 32(%[a0]), %%ymm" #high "\n"
#define COPY_BIAS(r, low, high)                  \
  "vmovaps %%ymm12, %%ymm" #low "\n"             \
  "vmovaps %%ymm13, %%ymm" #high "\n"
#define BEGIN(ROWS)                              \
  "cmpb $0, 136(%[operands])\n"                  \
  "jne 6f\n"                                     \
  ROWS(BEGIN_ROW)                                \
  "jmp 5f\n"                                     \
  "6:\n"                                         \
  "vmovaps -64(%[w]), %%ymm12\n"                 \
  "vmovaps -32(%[w]), %%ymm13\n"                 \
  ROWS(COPY_BIAS)
#define ADD_RESIDUAL(r, low, high)               \
  "mov 48+8*" #r "(%[operands]), %[a1]\n"        \
  "add %[a0], %[a1]\n"                           \
  "vaddps (%[a1]), %%ymm" #low ", %%ymm" #low "\n" \
  "vaddps 32(%[a1]), %%ymm" #high ", %%ymm" #high "\n"
#define ADD_RESIDUAL_LOW(r, low, high)           \
  "mov 48+8*" #r "(%[operands]), %[a1]\n"        \
  "add %[a0], %[a1]\n"                           \
  "vaddps (%[a1]), %%ymm" #low ", %%ymm" #low "\n"
// The instructions return their second operand, the first in this syntax, where either is NaN.
#define END_ROW_LOW(r, low, high)                      \
  "mov 48+8*" #r "(%[operands]), %[a0]\n"              \
  "vmaxps %%ymm" #low ", %%ymm12, %%ymm" #low "\n"     \
  "vminps %%ymm" #low ", %%ymm13, %%ymm" #low "\n"     \
  "vmovups %%ymm" #low ", (%[a0])\n"
#define END_ROW(r, low, high)                          \
  END_ROW_LOW(r, low, high)                            \
  "vmaxps %%ymm" #high ", %%ymm12, %%ymm" #high "\n"   \
  "vminps %%ymm" #high ", %%ymm13, %%ymm" #high "\n"   \
  "vmovups %%ymm" #high ", 32(%[a0])\n"
#define END(ROWS, half)                          \
  "cmpb $0, 137(%[operands])\n"                  \
  "je 7f\n"                                      \
  "mov 128(%[operands]), %[a0]\n"                \
  ROWS(ADD_RESIDUAL##half)                       \
  "7:\n"                                         \
  "vbroadcastss 96(%[operands]), %%ymm12\n"      \
  "vbroadcastss 100(%[operands]), %%ymm13\n"     \
  ROWS(END_ROW##half)                            \
  "vzeroupper\n"
#define ROWS_1(DO) DO(0, 0, 1)
#define ROWS_2(DO) ROWS_1(DO) DO(1, 2, 3)
#define ROWS_4(DO) ROWS_2(DO) DO(2, 4, 5) DO(3, 6, 7)
#define ROWS_6(DO) ROWS_4(DO) DO(4, 8, 9) DO(5, 10, 11)
#define REGISTERS                                                                                 \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
      "xmm12", "xmm13", "xmm14", "xmm15"
#define ADD_PRODUCTS(rows, half)                                                             \
  __asm__ volatile(BEGIN(ROWS_##rows) ALONG_PARTS(rows, half) END(ROWS_##rows, half)         \
                   : [w] "+&r"(w), [ends] "+&r"(ends), [next] "+&r"(next), [k] "=&r"(k),     \
                     [a0] "=&r"(a[0]), [a1] "=&r"(a[1]), [a2] "=&r"(a[2]), [a3] "=&r"(a[3]), \
                     [a4] "=&r"(a[4]), [a5] "=&r"(a[5])                                      \
                   : [operands] "r"(&operands)                                               \
                   : "memory", "cc", REGISTERS)
// clang-format on

/// The ends of all rows of a part.
using RowEnds = const float* [kRows];

/// Adds the products of some parts to the sums of at least `rows` rows; returns the next part's
/// weights. kIsHalf: the panel has at most eight columns.
template <bool kIsHalf>
inline const float* add_parts(size_t rows, const RowEnds* ends, const float* w, const char* next,
                              const Operands& operands) {
  intptr_t k;
  const void* a[kRows];
  if constexpr (kIsHalf) {
    if (rows == 1) {
      ADD_PRODUCTS(1, _LOW);
    } else if (rows == 2) {
      ADD_PRODUCTS(2, _LOW);
    } else if (rows <= 4) {
      ADD_PRODUCTS(4, _LOW);
    } else {
      ADD_PRODUCTS(6, _LOW);
    }
  } else if (rows == 1) {
    ADD_PRODUCTS(1, );
  } else if (rows == 2) {
    ADD_PRODUCTS(2, );
  } else if (rows <= 4) {
    ADD_PRODUCTS(4, );
  } else {
    ADD_PRODUCTS(6, );
  }
  return w;
}

#undef TIMES_ROW
#undef LOAD_WEIGHTS
#undef TIMES_ROW_LOW
#undef LOAD_WEIGHTS_LOW
#undef ROWS_OF_STEP_1
#undef ROWS_OF_STEP_2
#undef ROWS_OF_STEP_4
#undef ROWS_OF_STEP_6
#undef STEP
#undef ALONG_PARTS
#undef BEGIN_ROW
#undef COPY_BIAS
#undef BEGIN
#undef ADD_RESIDUAL
#undef ADD_RESIDUAL_LOW
#undef END_ROW_LOW
#undef END_ROW
#undef END
#undef ROWS_1
#undef ROWS_2
#undef ROWS_4
#undef ROWS_6
#undef REGISTERS
#undef ADD_PRODUCTS

}  // namespace executorch::kernels::engine::gemm_avx2
#endif
