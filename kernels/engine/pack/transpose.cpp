// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/pack/pack.h>

#include <algorithm>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/gemm/pack_avx512.h>
#include <executorch/kernels/engine/pack/transpose_block.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {
namespace {

/// The side of blocks: cache lines of both sides.
constexpr size_t kSide = 16;
constexpr size_t kPlanes = 3;

/// Three planes of points to points of three, as images with red, green and blue planes have them.
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

using BlockFunction = void (*)(const uint32_t*, size_t, uint32_t*, size_t, size_t, size_t);

BlockFunction block_function_for([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set >= InstructionSet::Avx512) return transpose_block_avx512;
#endif
  return transpose_block<uint32_t>;
}

}  // namespace

void transpose_32bit(const TransposeCall& call, Threads& threads, InstructionSet set) {
  const size_t rows = call.rows, columns = call.columns, area = rows * columns;
  if (area == 0) return;
  if (rows == kPlanes) {
    const size_t parts = divide_up(columns, kNumbersOfItem), part = divide_up(columns, parts);
    for_each_item(threads, call.batch * parts, [&](size_t item, size_t) {
      const size_t begin = item % parts * part, at = item / parts * area;
      if (begin >= columns) return;
      interleave_three(call.in + at + begin, columns, call.out + at + begin * kPlanes,
                       std::min(part, columns - begin));
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

}  // namespace executorch::kernels::engine
