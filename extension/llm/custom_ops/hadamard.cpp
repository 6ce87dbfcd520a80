// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The orthonormal Hadamard transform of rows whose length is a power of two.
#include <cmath>
#include <cstdint>
#include <cstring>

#include <executorch/extension/llm/custom_ops/NativeFunctions.h>
#include <executorch/extension/llm/custom_ops/check.h>

namespace llama::native {

using executorch::aten::RuntimeContext;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;

namespace {

void transform(float* row, int64_t length) {
  for (int64_t half = 1; half < length; half *= 2) {
    for (int64_t first = 0; first < length; first += 2 * half) {
      for (int64_t i = first; i < first + half; ++i) {
        const float a = row[i], b = row[i + half];
        row[i] = a + b;
        row[i + half] = a - b;
      }
    }
  }
  const float factor = 1.0f / std::sqrt(float(length));
  for (int64_t i = 0; i < length; ++i) row[i] *= factor;
}

}  // namespace

Tensor& fast_hadamard_transform_out(RuntimeContext& ctx, const Tensor& mat, Tensor& out) {
  const int64_t length = mat.dim() == 0 ? 0 : mat.size(mat.dim() - 1);
  if (!executorch::extension::llm::expect_contiguous(ctx, "mat", mat, int(mat.dim())) ||
      !executorch::kernels::expect_dtype(ctx, "mat", mat, ScalarType::Float) ||
      !executorch::kernels::expect_dtype(ctx, "out", out, ScalarType::Float) ||
      !ET_EXPECT(ctx, length > 0 && (length & (length - 1)) == 0,
                 "mat: expected rows whose length is a power of two, found %s",
                 executorch::kernels::ShapeText(mat).text) ||
      !executorch::kernels::resize_like(ctx, out, mat)) {
    return out;
  }
  float* const rows = out.mutable_data_ptr<float>();
  if (mat.numel() != 0) std::memmove(rows, mat.const_data_ptr(), mat.nbytes());
  for (int64_t i = 0; i < mat.numel(); i += length) transform(rows + i, length);
  return out;
}

}  // namespace llama::native
