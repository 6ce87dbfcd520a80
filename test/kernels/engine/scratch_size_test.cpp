// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Scratch memory that no address space holds is reported as the limit that callers refuse. On 32
// bits, sizes of tensors that fit memory get there.
#include <gtest/gtest.h>

#include <executorch/kernels/engine/attention/dense.h>
#include <executorch/kernels/engine/conv/transposed.h>
#include <executorch/kernels/engine/depthwise/depthwise.h>
#include <executorch/kernels/engine/gemm/gemm.h>
#include <executorch/kernels/engine/qdepthwise/qdepthwise.h>
#include <executorch/kernels/engine/scratch_size.h>

namespace executorch::kernels::engine {
namespace {

// A window of 2^20 taps at so many points needs more pointers than size_t counts.
constexpr size_t kHuge = size_t{1} << (sizeof(size_t) * 8 - 16);

/// A long window with gaps, on a line of that many points.
Conv2dParams long_window() {
  Conv2dParams p;
  p.groups = 2;
  p.group_inputs = p.group_outputs = 1;
  p.kernel_height = 1;
  p.kernel_width = size_t{1} << 20;
  p.stride_height = p.stride_width = 1;
  p.dilation_height = 1;
  p.dilation_width = 2;
  return p;
}

TEST(ScratchSize, ProductsAndSumsEndAtTheLimit) {
  EXPECT_EQ(limited_product(3, 5), 15u);
  EXPECT_EQ(limited_product(kHuge, kHuge), kMaxScratch);
  EXPECT_EQ(limited_product(kHuge, 4, 100), 100u);
  EXPECT_EQ(limited_sum(3, 5), 8u);
  EXPECT_EQ(limited_sum(kMaxScratch, kMaxScratch), kMaxScratch);
}

TEST(ScratchSize, TablesOfWindowsEndAtTheLimit) {
  const ImageSize line = {1, kHuge};
  EXPECT_EQ(depthwise_scratch_bytes(long_window(), line, 1), kMaxScratch);
  EXPECT_EQ(qdepthwise_scratch_bytes(long_window(), 1, line, 1), kMaxScratch);
  Conv2dParams transposed = long_window();
  transposed.transposed = true;
  EXPECT_EQ(transposed_scratch_bytes(transposed, line, 1), kMaxScratch);
  EXPECT_LT(depthwise_scratch_bytes(long_window(), {1, size_t{1} << 22}, 1), kMaxScratch);
}

TEST(ScratchSize, ThreadsMultiplyUpToTheLimit) {
  EXPECT_EQ(depthwise_scratch_bytes(long_window(), {1, size_t{1} << 22}, kHuge), kMaxScratch);
}

TEST(ScratchSize, AttentionAndProductsEndAtTheLimit) {
  DenseAttentionCall attention;
  attention.queries = 1;
  attention.keys = attention.value_channels = 64;
  attention.channels = kMaxScratch / 64;
  EXPECT_EQ(dense_attention_scratch_bytes(attention, 64), kMaxScratch);
  BatchMatmulCall product;
  product.rows = product.columns = 64;
  product.depth = kMaxScratch / 64;
  EXPECT_EQ(batch_matmul_scratch_bytes(product, 64), kMaxScratch);
}

}  // namespace
}  // namespace executorch::kernels::engine
