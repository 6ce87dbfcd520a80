// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Argument checks. A failed check logs the expected and the found value, fails the context and
// returns false; the kernel then returns at once:
//
//   if (!ET_EXPECT(ctx, n > 0, "kernel_size must be positive, found %" PRId64, n)) return out;
#pragma once

#include <executorch/kernels/loops/memory/shape.h>

#include <executorch/runtime/platform/compiler.h>
#include <executorch/runtime/platform/log.h>

#include <cinttypes>

namespace executorch::kernels {

/// Fails the context with InvalidArgument and the printf-style message; returns false.
bool refuse(KernelRuntimeContext& ctx, const char* format, ...) ET_PRINTF_FORMAT(2, 3) ET_COLD;

/// Same as refuse(), without a message.
bool refuse_silently(KernelRuntimeContext& ctx) ET_COLD;

/// Returns whether the condition holds; calls refuse() if it does not. A macro, so that the
/// message's arguments (shapes, names) are evaluated on failure only, and not at all in a build
/// without logs.
#if ET_LOG_ENABLED
#define ET_EXPECT(ctx, condition, ...) \
  (ET_LIKELY(condition) || ::executorch::kernels::refuse(ctx, __VA_ARGS__))
#else
#define ET_EXPECT(ctx, condition, ...)                                                   \
  (ET_LIKELY(condition) || (false && ::executorch::kernels::refuse(ctx, __VA_ARGS__)) || \
   ::executorch::kernels::refuse_silently(ctx))
#endif

/// Normalizes `dim`, which counts from the end if negative, to 0 … rank - 1. A tensor without
/// dimensions counts as rank 1.
bool expect_dim(KernelRuntimeContext& ctx, int64_t dim, int rank, int* normalized);

/// Normalized dimensions as a mask, bit d for dimension d; none may occur twice. An empty list
/// gives 0.
bool expect_dims(KernelRuntimeContext& ctx, ArrayRef<int64_t> dims, int rank, uint32_t* mask);

/// The tensor's dtype is `dtype`.
bool expect_dtype(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor,
                  ScalarType dtype);
/// Both tensors have one dtype.
bool expect_same_dtype(KernelRuntimeContext& ctx, const char* name_a, const Tensor& a,
                       const char* name_b, const Tensor& b);
/// The dtype is one that kernels can copy, complex dtypes included.
bool expect_movable(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor);
/// The dtype is one that kernels can compute with.
bool expect_number(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor);
/// A result of dtype `computed` may be written to `out` (torch.can_cast).
bool expect_castable(KernelRuntimeContext& ctx, ScalarType computed, const Tensor& out);
/// The tensor is int32 or int64, the dtypes that ATen accepts as indices.
bool expect_index_dtype(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor);

/// The dtype can represent the number in argument `name` (fits() of number.h).
bool expect_fits(KernelRuntimeContext& ctx, const char* name, const Scalar& number,
                 ScalarType dtype);
/// The same for a tensor of one element. Only complex dtypes can represent a complex number.
bool expect_item_fits(KernelRuntimeContext& ctx, const char* name, const Tensor& item,
                      ScalarType dtype);
/// All of `out` may be set to the number. As in ATen, a single 16-bit float accepts any number, as
/// infinity if it is too large.
bool expect_fill(KernelRuntimeContext& ctx, const char* name, const Scalar& number,
                 const Tensor& out);

/// Resizes `out`, which keeps its rank and dim order and must have room.
bool resize(KernelRuntimeContext& ctx, Tensor& out, const Shape& shape);
bool resize_like(KernelRuntimeContext& ctx, Tensor& out, const Tensor& like);

/// Returns temporary memory for `count` items, at least one, or fails the context and returns
/// nullptr.
void* allocate(KernelRuntimeContext& ctx, int64_t count, int64_t item_size);
template <class T>
T* allocate(KernelRuntimeContext& ctx, int64_t count) {
  return static_cast<T*>(allocate(ctx, count, int64_t(sizeof(T))));
}

}  // namespace executorch::kernels
