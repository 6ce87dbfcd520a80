// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The branches of a decoder's cross attention: one computes keys and values, the other reads them
// from the cache.
#include <cstring>

#include <executorch/extension/llm/custom_ops/NativeFunctions.h>
#include <executorch/extension/llm/custom_ops/check.h>

namespace executorch::native {

using aten::RuntimeContext;
using aten::Tensor;
using kernels::ShapeText;

namespace {

bool copy_to(RuntimeContext& ctx, const char* name, const Tensor& from, Tensor& out) {
  if (!extension::llm::expect_contiguous(ctx, name, from, int(from.dim())) ||
      !kernels::expect_same_dtype(ctx, name, from, "out", out) ||
      !kernels::resize_like(ctx, out, from)) {
    return false;
  }
  if (from.nbytes() != 0)
    std::memmove(out.mutable_data_ptr(), from.const_data_ptr(), from.nbytes());
  return true;
}

}  // namespace

std::tuple<Tensor&, Tensor&> alias_out(RuntimeContext& ctx, const Tensor& x, const Tensor& y,
                                       Tensor& out0, Tensor& out1) {
  if (copy_to(ctx, "x", x, out0)) copy_to(ctx, "y", y, out1);
  return {out0, out1};
}

/// Returns cache [batch, heads, capacity, channels] with its first positions replaced by those of
/// value.
Tensor& update_cross_attn_cache_out(RuntimeContext& ctx, const Tensor& value, const Tensor& cache,
                                    Tensor& out) {
  if (!extension::llm::expect_contiguous(ctx, "value", value, 4) ||
      !extension::llm::expect_contiguous(ctx, "cache", cache, 4) ||
      !kernels::expect_same_dtype(ctx, "value", value, "cache", cache) ||
      !ET_EXPECT(ctx,
                 value.size(0) == cache.size(0) && value.size(1) == cache.size(1) &&
                     value.size(2) <= cache.size(2) && value.size(3) == cache.size(3),
                 "value and cache: expected one batch, one number of heads and of channels, and no "
                 "more positions than the cache has, found %s and %s",
                 ShapeText(value).text, ShapeText(cache).text) ||
      !copy_to(ctx, "cache", cache, out)) {
    return out;
  }
  const size_t position = size_t(value.size(3)) * value.element_size();
  const size_t count = position * size_t(value.size(2));
  for (int64_t i = 0; count != 0 && i < int64_t(value.size(0)) * value.size(1); ++i) {
    std::memcpy(static_cast<char*>(out.mutable_data_ptr()) + position * size_t(i * cache.size(2)),
                static_cast<const char*>(value.const_data_ptr()) + count * size_t(i), count);
  }
  return out;
}

}  // namespace executorch::native
