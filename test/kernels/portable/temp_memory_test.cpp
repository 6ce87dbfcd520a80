// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/loops/memory/check.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/quantized/NativeFunctions.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch::kernels {
namespace {

TEST(TempMemory, SizesThatNoAddressSpaceHoldsAreRefused) {
  runtime::runtime_init();
  alignas(16) uint8_t memory[1024];
  // Products of 2^32 and 16 bytes, and of 2^63 and more: the low 32 or 64 bits are few.
  const struct {
    int64_t count, item_size;
  } kRows[] = {{(int64_t{1} << 28) + 1, 16}, {(int64_t{1} << 61) + 1, 8}, {INT64_MAX, 16}};
  for (const auto& row : kRows) {
    runtime::MemoryAllocator allocator(sizeof(memory), memory);
    runtime::KernelRuntimeContext context(nullptr, &allocator);
    EXPECT_EQ(allocate(context, row.count, row.item_size), nullptr) << row.count;
    EXPECT_NE(context.failure_state(), runtime::Error::Ok) << row.count;
  }
}

constexpr int32_t kMany = 1 << 20;

/// A tensor without elements in no memory, or a vector over `data`.
class TestTensor {
 public:
  TestTensor(aten::ScalarType type, std::vector<int32_t> sizes, void* data = nullptr)
      : sizes_(std::move(sizes)), dim_order_(sizes_.size()), strides_(sizes_.size()) {
    std::iota(dim_order_.begin(), dim_order_.end(), uint8_t{0});
    EXPECT_EQ(runtime::dim_order_to_stride(sizes_.data(), dim_order_.data(), sizes_.size(),
                                           strides_.data()),
              runtime::Error::Ok);
    impl_.emplace(type, static_cast<ssize_t>(sizes_.size()), sizes_.data(), data, dim_order_.data(),
                  strides_.data());
    tensor_.emplace(&*impl_);
  }
  TestTensor(const TestTensor&) = delete;
  TestTensor& operator=(const TestTensor&) = delete;
  aten::Tensor& operator*() { return *tensor_; }

 private:
  std::vector<int32_t> sizes_;
  std::vector<uint8_t> dim_order_;
  std::vector<int32_t> strides_;
  std::optional<aten::TensorImpl> impl_;
  std::optional<aten::Tensor> tensor_;
};

/// Runs a kernel with a kilobyte of temporary memory.
template <typename Kernel>
runtime::Error run_in_little_memory(const Kernel& kernel) {
  runtime::runtime_init();
  alignas(16) uint8_t memory[1024];
  runtime::MemoryAllocator allocator(sizeof(memory), memory);
  runtime::KernelRuntimeContext context(nullptr, &allocator);
  kernel(context);
  return context.failure_state();
}

TEST(TempMemory, GradientsOfEmbeddingsWithoutColumnsTakeNone) {
  int64_t rows[] = {0, 1, 1};
  TestTensor grad(aten::ScalarType::Float, {3, 0}), indices(aten::ScalarType::Long, {3}, rows);
  TestTensor out(aten::ScalarType::Float, {kMany, 0});
  for (const bool is_scaled : {false, true}) {
    EXPECT_EQ(run_in_little_memory([&](KernelRuntimeContext& context) {
                portable::embedding_dense_backward_out(context, *grad, *indices, kMany, -1,
                                                       is_scaled, *out);
              }),
              runtime::Error::Ok);
  }
}

TEST(TempMemory, GradientsOfNormsWithoutElementsTakeNone) {
  constexpr bool kOnlyInput[] = {true, false, false};
  constexpr int64_t kLayer[] = {kMany};
  const std::optional<aten::Tensor> none;
  TestTensor layers(aten::ScalarType::Float, {0, kMany}),
      of_layers(aten::ScalarType::Float, {0, kMany});
  TestTensor images(aten::ScalarType::Float, {0, kMany, 1}),
      of_images(aten::ScalarType::Float, {0, kMany, 1});
  TestTensor mean(aten::ScalarType::Float, {0, 1}), rstd(aten::ScalarType::Float, {0, 1});
  TestTensor unused(aten::ScalarType::Float, {0}), unused_too(aten::ScalarType::Float, {0});
  EXPECT_EQ(run_in_little_memory([&](KernelRuntimeContext& context) {
              portable::native_layer_norm_backward_out(context, *layers, *layers, kLayer, *mean,
                                                       *rstd, none, none, kOnlyInput, *of_layers,
                                                       *unused, *unused_too);
            }),
            runtime::Error::Ok);
  EXPECT_EQ(run_in_little_memory([&](KernelRuntimeContext& context) {
              portable::native_group_norm_backward_out(context, *images, *images, *mean, *rstd,
                                                       none, 0, kMany, 1, 1, kOnlyInput, *of_images,
                                                       *unused, *unused_too);
            }),
            runtime::Error::Ok);
}

TEST(TempMemory, RowsOfAQuantizedTableAreNotUnpackedWithoutIndices) {
  float scale = 1;
  TestTensor indices(aten::ScalarType::Long, {0}), scales(aten::ScalarType::Float, {1}, &scale);
  std::vector<int8_t> row(kMany);
  TestTensor table(aten::ScalarType::Char, {1, kMany}, row.data());
  TestTensor out(aten::ScalarType::Float, {0, kMany});
  EXPECT_EQ(run_in_little_memory([&](KernelRuntimeContext& context) {
              quantized::embedding_byte_out(context, *table, *scales, std::nullopt, -128, 127,
                                            *indices, *out);
            }),
            runtime::Error::Ok);
}

}  // namespace
}  // namespace executorch::kernels
