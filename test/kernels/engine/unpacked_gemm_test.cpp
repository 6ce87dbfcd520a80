// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Products whose right operand is not packed in advance: batches, and few rows.
#include <executorch/kernels/engine/gemm/few_rows.h>
#include <executorch/kernels/engine/gemm/gemm.h>

#include "support.h"

namespace {

using namespace engine_test;  // NOLINT: the tests' vocabulary

TEST(BatchMatmul, BroadcastsAndMatchesDoublePrecision) {
  Random random(7);
  for (int i = 0; i < 80; ++i) {
    const size_t sizes[2] = {random.size(1, 3), random.size(1, 3)};
    const size_t rows = random.size(0, 130), columns = random.size(0, 140),
                 depth = random.size(0, 50);
    const bool transposed = random.size(0, 1) == 1;
    Floats left = random.floats(sizes[0] * rows * depth);
    Floats right = random.floats(sizes[1] * depth * columns);
    const Precision precision = i % 2 == 0 ? Precision::Float32 : Precision::BFloat16;
    if (precision == Precision::BFloat16) {
      round_to_bf16(left);
      round_to_bf16(right);
    }
    const size_t left_strides[2] = {rows * depth, 0}, right_strides[2] = {0, depth * columns};
    const size_t out_strides[2] = {sizes[1] * rows * columns, rows * columns};
    for (InstructionSet set : instruction_sets()) {
      Floats alone(sizes[0] * sizes[1] * rows * columns);
      for (size_t threads_count : {1, 3}) {
        ManyThreads threads(threads_count);
        Floats out(alone.size());
        BatchMatmulCall call;
        call.batch_rank = 2;
        call.precision = precision;
        call.batch_sizes = sizes;
        call.left_batch_strides = left_strides;
        call.right_batch_strides = right_strides;
        call.out_batch_strides = out_strides;
        call.rows = rows;
        call.columns = columns;
        call.depth = depth;
        call.left = left.data();
        call.left_stride = depth;
        call.right = {right.data(), transposed ? 1 : columns, transposed ? depth : 1};
        call.out = out.data();
        call.out_stride = columns;
        Aligned scratch(batch_matmul_scratch_bytes(call, threads_count, set));
        batch_matmul(call, scratch.data(), threads, set);
        if (threads_count == 1) std::copy(out.begin(), out.end(), alone.begin());
        ASSERT_TRUE(same_bits(alone, out)) << name_of(set);
        for (size_t at = 0; at < out.size(); ++at) {
          const size_t column = at % columns, row = at / columns % rows;
          const size_t b1 = at / columns / rows % sizes[1], b0 = at / columns / rows / sizes[1];
          double sum = 0;
          for (size_t d = 0; d < depth; ++d) {
            const size_t in_right = transposed ? column * depth + d : d * columns + column;
            sum += double(left[b0 * rows * depth + row * depth + d]) *
                   right[b1 * depth * columns + in_right];
          }
          ASSERT_TRUE(is_near(sum, out[at], tolerance::kPerTerm * double(depth + 1)))
              << name_of(set);
        }
      }
    }
  }
}

TEST(BatchMatmul, ScratchMemoryThatDoesNotFitANumberIsTheLargest) {
  for (InstructionSet set : instruction_sets()) {
    for (const size_t depth : {SIZE_MAX / 8, SIZE_MAX / 4, SIZE_MAX / 2}) {
      BatchMatmulCall call;
      call.rows = 17;
      call.columns = 16;
      call.depth = depth;
      EXPECT_EQ(batch_matmul_scratch_bytes(call, 8, set), SIZE_MAX / 2) << name_of(set);
    }
  }
}

TEST(FewRows, MatchDoublePrecisionAndKeepTheBitsOfARow) {
  Random random(71);
  for (int i = 0; i < 120; ++i) {
    FewRowsCall call;
    call.rows = random.size(1, 9);
    call.columns = random.size(0, 70);
    call.depth = random.size(0, 150);
    const bool transposed = random.size(0, 1) == 0;
    const Floats left = random.floats(call.rows * call.depth);
    const Floats right = random.floats(call.depth * call.columns);
    call.left = left.data();
    call.left_stride = call.depth;
    call.right = {right.data(), transposed ? 1 : call.columns, transposed ? call.depth : 1};
    call.out_stride = call.columns;
    for (InstructionSet set : instruction_sets()) {
      Floats out(call.rows * call.columns, kNaN), alone(call.columns, kNaN);
      ManyThreads threads(random.size(1, 3));
      call.out = out.data();
      multiply_few_rows(call, threads, set);
      FewRowsCall last = call;
      last.rows = 1;
      last.left = left.data() + (call.rows - 1) * call.depth;
      last.out = alone.data();
      few_rows_function(set)(last);
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), out.end() - call.columns));
      if (!transposed && call.columns > 1) {
        Floats twice(out.size(), kNaN);
        FewRowsCall part = call;
        part.out = twice.data();
        part.depth = call.depth / 2 / 4 * 4;
        multiply_few_rows(part, threads, set);
        part.left += part.depth;
        part.right.data += part.depth * call.columns;
        part.depth = call.depth - part.depth;
        part.adds = true;
        multiply_few_rows(part, threads, set);
        EXPECT_TRUE(std::equal(out.begin(), out.end(), twice.begin()));
      }
      for (size_t at = 0; at < out.size(); ++at) {
        const size_t row = at / call.columns, column = at % call.columns;
        double sum = 0;
        for (size_t d = 0; d < call.depth; ++d) {
          sum += double(left[row * call.depth + d]) *
                 right[transposed ? column * call.depth + d : d * call.columns + column];
        }
        ASSERT_TRUE(is_near(sum, out[at], tolerance::kPerTerm * double(call.depth + 1)))
            << name_of(set);
      }
    }
  }
}

}  // namespace
