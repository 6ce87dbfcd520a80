// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Matrix products with and without temporary memory, against a plain triple loop.
#include <executorch/kernels/portable/gemm/matrix.h>
#include <executorch/runtime/platform/runtime.h>

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

namespace {

using namespace executorch::kernels;  // NOLINT: the subject of the test
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::MemoryAllocator;

template <class T>
void check_product(const GemmTile<T>& tile, KernelRuntimeContext& ctx, int64_t m, int64_t n,
                   int64_t k, bool transposed) {
  std::vector<T> left(m * k + 1), right(k * n + 1), out(m * n + 1, T(9));
  for (int64_t i = 0; i < m * k; ++i) left[i] = T(i % 7) - T(3);
  for (int64_t i = 0; i < k * n; ++i) right[i] = T(i % 5) - T(2);
  constexpr int64_t kSize = sizeof(T);
  const auto dtype = dtype_of(compute_type<T>);
  const auto bytes = [](std::vector<T>& v) { return reinterpret_cast<char*>(v.data()); };
  const MatrixSource<T> a({bytes(left), dtype, k * kSize, kSize});
  const MatrixSource<T> b(
      {bytes(right), dtype, transposed ? kSize : n * kSize, transposed ? k * kSize : kSize});
  MatrixSink<T> c({bytes(out), dtype, n * kSize, kSize}, {}, T(1), T(0));
  Gemm<T> gemm(ctx, tile, m, n, k);
  gemm.run(a, b, c);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += left[i * k + p] * right[transposed ? j * k + p : p * n + j];
      }
      // Small integers: exact in every type.
      ASSERT_EQ(sum, out[i * n + j]) << m << "x" << k << "x" << n << " at " << i << ", " << j;
    }
  }
  EXPECT_EQ(out[m * n], T(9)) << "wrote beyond the end";
}

void check_all(const GemmTiles& tiles, KernelRuntimeContext& ctx, MemoryAllocator* allocator) {
  const std::tuple<int, int, int> shapes[] = {
      {1, 1, 1},    {1, 40, 70},  {3, 33, 5},   {4, 300, 9},  {5, 17, 0},    {13, 31, 300},
      {6, 32, 257}, {12, 64, 8},  {25, 500, 3}, {200, 7, 20}, {14, 241, 40}, {1, 37, 150},
      {2, 21, 261}, {3, 19, 130}, {4, 35, 157}, {1, 9, 75}};
  for (const auto& [m, n, k] : shapes) {
    for (const bool transposed : {false, true}) {
      check_product(tiles.f32, ctx, m, n, k, transposed);
      check_product(tiles.f64, ctx, m, n, k, transposed);
      check_product(tiles.u64, ctx, m, n, k, transposed);
      if (allocator) allocator->reset();
    }
  }
}

TEST(GemmTest, MultipliesExactly) {
  executorch::runtime::runtime_init();
  std::vector<unsigned char> memory(8 << 20);
  MemoryAllocator allocator(static_cast<uint32_t>(memory.size()), memory.data());
  KernelRuntimeContext ctx(nullptr, &allocator);
  check_all(plain_gemm_tiles(), ctx, &allocator);
}

TEST(GemmTest, MultipliesWithoutTemporaryMemory) {
  executorch::runtime::runtime_init();
  KernelRuntimeContext ctx;
  check_all(plain_gemm_tiles(), ctx, nullptr);
}

}  // namespace
