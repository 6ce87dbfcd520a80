// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/pack/pack.h>

#include <algorithm>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/gemm/pack/pack_avx512.h>
#include <executorch/kernels/engine/pack/transpose_block.h>
#include <executorch/kernels/engine/threads.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace executorch::kernels::engine {
namespace {

/// The side of blocks: cache lines of both sides.
constexpr size_t kSide = 16;
constexpr size_t kPlanes = 3;

/// Interleaves three planes of points, as images with red, green and blue planes have them.
void interleave_three(const uint32_t* in, size_t stride, uint32_t* out, size_t points) {
  const uint32_t *a = in, *b = in + stride, *c = in + 2 * stride;
  size_t i = 0;
  for (; i + 4 <= points; i += 4, out += 4 * kPlanes) {
    const Four va = load_four(a + i), vb = load_four(b + i), vc = load_four(c + i);
    const Four low_ab = __builtin_shufflevector(va, vb, 0, 4, 1, 5);
    const Four high_ab = __builtin_shufflevector(va, vb, 2, 6, 3, 7);
    const Four second_bc = __builtin_shufflevector(vb, vc, 1, 5, 1, 5);
    store_four(__builtin_shufflevector(low_ab, vc, 0, 1, 4, 2), out);
    store_four(__builtin_shufflevector(second_bc, high_ab, 0, 1, 4, 5), out + 4);
    store_four(__builtin_shufflevector(vc, high_ab, 2, 6, 7, 3), out + 8);
  }
  for (; i < points; ++i, out += kPlanes) {
    out[0] = a[i];
    out[1] = b[i];
    out[2] = c[i];
  }
}

void interleave_three_bytes(const uint8_t* in, size_t stride, uint8_t* out, size_t points) {
  for (size_t i = 0; i < points; ++i) {
    for (size_t plane = 0; plane < kPlanes; ++plane)
      out[kPlanes * i + plane] = in[plane * stride + i];
  }
}

#if defined(__x86_64__)
/// The shuffle of 16 bytes of a plane to their places in vector `part` of the result.
struct Places {
  int8_t from[kPlanes][kPlanes][16];

  constexpr Places() : from() {
    for (int part = 0; part < int(kPlanes); ++part) {
      for (int at = 0; at < 16; ++at) {
        const int place = 16 * part + at, owner = place % int(kPlanes);
        for (int plane = 0; plane < int(kPlanes); ++plane) {
          from[part][plane][at] = int8_t(plane == owner ? place / int(kPlanes) : -1);
        }
      }
    }
  }
};
constexpr Places kPlaces;

__attribute__((target("avx2"))) void interleave_three_bytes_avx2(const uint8_t* in, size_t stride,
                                                                 uint8_t* out, size_t points) {
  const auto load = [](const void* from) __attribute__((target("avx2"))) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  };
  size_t i = 0;
  for (; i + 16 <= points; i += 16) {
    const __m128i a = load(in + i), b = load(in + stride + i), c = load(in + 2 * stride + i);
    for (size_t part = 0; part < kPlanes; ++part) {
      const auto& from = kPlaces.from[part];
      const __m128i mixed = _mm_or_si128(
          _mm_shuffle_epi8(a, load(from[0])),
          _mm_or_si128(_mm_shuffle_epi8(b, load(from[1])), _mm_shuffle_epi8(c, load(from[2]))));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + kPlanes * i + 16 * part), mixed);
    }
  }
  interleave_three_bytes(in + i, stride, out + kPlanes * i, points - i);
}
#endif

using InterleaveBytes = void (*)(const uint8_t*, size_t, uint8_t*, size_t);

InterleaveBytes interleave_function_for([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set >= InstructionSet::Avx2) return interleave_three_bytes_avx2;
#endif
  return interleave_three_bytes;
}

/// Calls f(in, out, points) for parts of images of three planes.
template <typename T, class F>
void for_parts_of_images(const TransposeOf<T>& call, Threads& threads, F&& f) {
  const size_t columns = call.columns, area = kPlanes * columns;
  const size_t parts = divide_up(columns, kElementsOfItem), part = divide_up(columns, parts);
  for_each_item(threads, call.batch * parts, [&](size_t item, size_t) {
    const size_t begin = item % parts * part, at = item / parts * area;
    if (begin >= columns) return;
    f(call.in + at + begin, call.out + at + begin * kPlanes, std::min(part, columns - begin));
  });
}

#if defined(__x86_64__)
#define AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline

/// Four floats of row 0, then four floats of row 4.
AVX2_INLINE __m256 load_halves(const float* from, size_t stride) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from)),
                              _mm_loadu_ps(from + 4 * stride), 1);
}

/// Four columns of eight rows to four rows of eight.
AVX2_INLINE void transpose_eight_by_four(const float* in, size_t in_stride, float* out,
                                         size_t out_stride) {
  const __m256 a = load_halves(in, in_stride), b = load_halves(in + in_stride, in_stride);
  const __m256 c = load_halves(in + 2 * in_stride, in_stride);
  const __m256 d = load_halves(in + 3 * in_stride, in_stride);
  const __m256 low_ab = _mm256_unpacklo_ps(a, b), high_ab = _mm256_unpackhi_ps(a, b);
  const __m256 low_cd = _mm256_unpacklo_ps(c, d), high_cd = _mm256_unpackhi_ps(c, d);
  _mm256_storeu_ps(out, _mm256_shuffle_ps(low_ab, low_cd, 0x44));
  _mm256_storeu_ps(out + out_stride, _mm256_shuffle_ps(low_ab, low_cd, 0xee));
  _mm256_storeu_ps(out + 2 * out_stride, _mm256_shuffle_ps(high_ab, high_cd, 0x44));
  _mm256_storeu_ps(out + 3 * out_stride, _mm256_shuffle_ps(high_ab, high_cd, 0xee));
}

/// Same as transpose_block().
__attribute__((target("avx2"))) void transpose_block_avx2(const uint32_t* in, size_t in_stride,
                                                          uint32_t* out, size_t out_stride,
                                                          size_t rows, size_t columns) {
  const auto* const from = reinterpret_cast<const float*>(in);
  auto* const to = reinterpret_cast<float*>(out);
  const size_t whole_rows = rows / 8 * 8, whole_columns = columns / 4 * 4;
  for (size_t c = 0; c < whole_columns; c += 4) {
    for (size_t r = 0; r < whole_rows; r += 8) {
      transpose_eight_by_four(from + r * in_stride + c, in_stride, to + c * out_stride + r,
                              out_stride);
    }
  }
  transpose_block(in + whole_columns, in_stride, out + whole_columns * out_stride, out_stride,
                  whole_rows, columns - whole_columns);
  transpose_block(in + whole_rows * in_stride, in_stride, out + whole_rows, out_stride,
                  rows - whole_rows, columns);
}
#undef AVX2_INLINE
#endif

using BlockFunction = void (*)(const uint32_t*, size_t, uint32_t*, size_t, size_t, size_t);

BlockFunction block_function_for([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set >= InstructionSet::Avx512) return transpose_block_avx512;
  if (set >= InstructionSet::Avx2) return transpose_block_avx2;
#endif
  return transpose_block<uint32_t>;
}

}  // namespace

void transpose_32bit(const TransposeCall& call, Threads& threads, InstructionSet set) {
  const size_t rows = call.rows, columns = call.columns, area = rows * columns;
  if (area == 0) return;
  if (rows == kPlanes) {
    for_parts_of_images(call, threads, [&](const uint32_t* in, uint32_t* out, size_t points) {
      interleave_three(in, columns, out, points);
    });
    return;
  }
  const BlockFunction block = block_function_for(set);
  const size_t column_blocks = divide_up(columns, kSide);
  for_each_rows(threads, call.batch * column_blocks, kSide * rows, [&](size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) {
      const size_t at = i / column_blocks * area, c = i % column_blocks * kSide;
      const size_t wide = std::min(kSide, columns - c);
      for (size_t r = 0; r < rows; r += kSide) {
        block(call.in + at + r * columns + c, columns, call.out + at + c * rows + r, rows,
              std::min(kSide, rows - r), wide);
      }
    }
  });
}

void transpose_8bit(const TransposeOf<uint8_t>& call, Threads& threads, InstructionSet set) {
  const size_t rows = call.rows, columns = call.columns;
  if (rows * columns == 0) return;
  if (rows == kPlanes) {
    const InterleaveBytes interleave = interleave_function_for(set);
    for_parts_of_images(call, threads, [&](const uint8_t* in, uint8_t* out, size_t points) {
      interleave(in, columns, out, points);
    });
    return;
  }
  for_each_rows(threads, call.batch * columns, rows, [&](size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) {
      const uint8_t* const in = call.in + i / columns * rows * columns + i % columns;
      for (size_t r = 0; r < rows; ++r) call.out[i * rows + r] = in[r * columns];
    }
  });
}

}  // namespace executorch::kernels::engine
