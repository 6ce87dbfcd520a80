// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Copies of images from NCHW to channels last and back by the engine.
#include <algorithm>

#include <executorch/kernels/engine/pack/pack.h>
#include <executorch/kernels/loops/memory/divide.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/optimized/kernel_threads.h>
#include <executorch/kernels/portable/NativeFunctions.h>

namespace executorch::kernels::optimized {
namespace {

using DimOrder = std::optional<ArrayRef<int64_t>>;

constexpr int64_t kNchw[] = {0, 1, 2, 3}, kNhwc[] = {0, 2, 3, 1};

bool is_order(const DimOrder& dim_order, const int64_t (&expected)[4]) {
  return !dim_order.has_value() ||
         (dim_order->size() == 4 && std::equal(expected, expected + 4, dim_order->begin()));
}

/// Copies images of 32-bit elements that change between NCHW and NHWC. Returns false, without a
/// result, for anything else, and for invalid arguments.
bool copy_images(const Tensor& self, const DimOrder& dim_order, const Tensor& out) {
  const Strided from(self), to(out);
  if (from.dtype != to.dtype || from.element_size() != sizeof(uint32_t) || from.rank != 4 ||
      to.rank != 4 || !std::equal(from.sizes, from.sizes + 4, to.sizes)) {
    return false;
  }
  const bool to_nhwc = in_index_order(from) && in_channels_last_order(to);
  const bool to_nchw = in_channels_last_order(from) && in_index_order(to);
  if ((!to_nhwc && !to_nchw) || !is_order(dim_order, to_nhwc ? kNhwc : kNchw)) return false;
  const size_t channels = size_t(from.sizes[1]), pixels = size_t(from.sizes[2] * from.sizes[3]);
  engine::TransposeCall call;
  call.batch = size_t(from.sizes[0]);
  call.rows = to_nhwc ? channels : pixels;
  call.columns = to_nhwc ? pixels : channels;
  call.in = reinterpret_cast<const uint32_t*>(from.data);
  call.out = reinterpret_cast<uint32_t*>(to.data);
  KernelThreads threads(call.batch * channels * pixels, kMinElements);
  engine::transpose_32bit(call, threads);
  return true;
}

}  // namespace

Tensor& _to_dim_order_copy_out(KernelRuntimeContext& ctx, const Tensor& self, bool non_blocking,
                               DimOrder dim_order, Tensor& out) {
  if (copy_images(self, dim_order, out)) return out;
  return portable::_to_dim_order_copy_out(ctx, self, non_blocking, dim_order, out);
}

Tensor& _clone_dim_order_out(KernelRuntimeContext& ctx, const Tensor& self, bool non_blocking,
                             DimOrder dim_order, Tensor& out) {
  return _to_dim_order_copy_out(ctx, self, non_blocking, dim_order, out);
}

}  // namespace executorch::kernels::optimized
