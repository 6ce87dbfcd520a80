// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Checks that the operators share.
#pragma once

#include <cstdint>

#include <executorch/kernels/loops/memory/check.h>

namespace executorch::extension::llm {

/// Fails the context unless `tensor` has `rank` dimensions and is contiguous.
bool expect_contiguous(aten::RuntimeContext& ctx, const char* name, const aten::Tensor& tensor,
                       int rank);

/// Fails the context unless `count` positions from `start_pos` lie in a cache of `capacity`
/// positions.
bool expect_positions(aten::RuntimeContext& ctx, int64_t start_pos, int64_t count,
                      int64_t capacity);

/// True if `b` has the dtype of `a`, or 16 bits where `a` is float32: operators convert while they
/// read or write.
bool expect_same_or_reduced(aten::RuntimeContext& ctx, const char* name_a, const aten::Tensor& a,
                            const char* name_b, const aten::Tensor& b);

/// Writes `value`, converted to the dtype of the cache, into the cache from `start_pos` on, after
/// checking both.
bool write_cache(aten::RuntimeContext& ctx, const aten::Tensor& value, aten::Tensor& cache,
                 int64_t start_pos);

/// True if value and cache, [batch, positions, heads, channels], have the same dtype or one that
/// converts, the same heads and channels, and the value's batch fits into the cache's.
bool expect_cache(aten::RuntimeContext& ctx, const aten::Tensor& value, const aten::Tensor& cache);

}  // namespace executorch::extension::llm
