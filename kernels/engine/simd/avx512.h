// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The intrinsics of AVX-512, for sources that are compiled for it function by function.
#pragma once

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
// GCC's _mm512_undefined_ps() reads itself, which it reports wherever an intrinsic is inlined.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif
