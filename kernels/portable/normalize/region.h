// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Normalization over regions of a tensor, which layer, group and batch norm and their gradients
// share. Regions are counted along some dimensions ("kept") and extend over the others; all
// elements of a region share a mean and a rstd = 1 / sqrt(variance + eps).
#pragma once

#include <executorch/kernels/loops/memory/check_floating.h>
#include <executorch/kernels/loops/memory/strided.h>

namespace executorch::kernels::portable {

/// The dimensions of a memory that are in the mask, bit d for dimension d.
inline Strided subset(const Strided& memory, uint32_t mask) {
  Strided result = memory;
  result.rank = 0;
  for (int d = 0; d < memory.rank; ++d) {
    if (mask >> d & 1) result.append(memory.sizes[d], memory.strides[d]);
  }
  return result;
}

/// Walks the regions of several memories of one shape, in the order of their indices.
template <int kCount>
class RegionWalk {
 public:
  RegionWalk(const Strided* const (&memories)[kCount], uint32_t kept) {
    for (int k = 0; k < kCount; ++k) kept_[k] = subset(*memories[k], kept);
  }
  int64_t regions() const { return kept_[0].numel(); }
  /// Goes from the first region to the one of that number.
  void skip(int64_t region) {
    for (int d = kept_[0].rank - 1; d >= 0; --d) {
      index_[d] = region % kept_[0].sizes[d];
      region /= kept_[0].sizes[d];
      for (int k = 0; k < kCount; ++k) offsets_[k] += index_[d] * kept_[k].strides[d];
    }
  }
  /// Bytes from a memory's start to the region's first element.
  int64_t offset(int memory) const { return offsets_[memory]; }
  void next() {
    for (int d = kept_[0].rank - 1; d >= 0; --d) {
      const bool carries = ++index_[d] == kept_[0].sizes[d];
      if (carries) index_[d] = 0;
      for (int k = 0; k < kCount; ++k) {
        offsets_[k] +=
            carries ? -kept_[k].strides[d] * (kept_[0].sizes[d] - 1) : kept_[k].strides[d];
      }
      if (!carries) return;
    }
  }

 private:
  Strided kept_[kCount];
  int64_t index_[Strided::kCapacity] = {};
  int64_t offsets_[kCount] = {};
};

/// The sum of f(i) for i below n, in several partial sums: faster, and more exact than one.
template <class T, class F>
T sum_of(int64_t n, F&& f) {
  constexpr int64_t kParts = 16;
  T parts[kParts] = {};
  int64_t i = 0;
  for (; i + kParts <= n; i += kParts) {
    for (int64_t p = 0; p < kParts; ++p) parts[p] += f(i + p);
  }
  T sum = 0;
  for (; i < n; ++i) sum += f(i);
  for (const T part : parts) sum += part;
  return sum;
}

/// A one-dimensional memory, broadcast to the sizes of `like`: it varies along dimension `dim`, and
/// has stride 0 along the others.
inline Strided along(const Strided& vector, const Strided& like, int dim) {
  Strided result = vector;
  result.rank = 0;
  for (int d = 0; d < like.rank; ++d) {
    result.append(like.sizes[d], d == dim ? vector.strides[0] : 0);
  }
  return result;
}

/// Splits dimension 1, the channels, into groups and channels of a group.
inline void split_channels(Strided& memory, int64_t groups) {
  const int64_t channels = memory.sizes[1] / groups;
  memory.sizes[1] = groups;
  memory.insert(2, channels, memory.strides[1]);
  memory.strides[1] *= channels;
}

// The checks that norms and their gradients share.

/// A parameter, if there is one, is floating and of this shape.
bool expect_parameter(KernelRuntimeContext& ctx, const char* name,
                      const std::optional<Tensor>& tensor, const Shape& shape);

/// The input is floating and ends with the sizes of normalized_shape.
bool expect_layers(KernelRuntimeContext& ctx, const Tensor& input,
                   ArrayRef<int64_t> normalized_shape);

/// The input is floating, of N samples with C channels of HxW elements in `group` groups.
bool expect_groups(KernelRuntimeContext& ctx, const Tensor& input, int64_t N, int64_t C,
                   int64_t HxW, int64_t group);

/// The input is floating and has channels.
bool expect_batch(KernelRuntimeContext& ctx, const Tensor& input);

/// The sizes of a layer norm's statistics: 1 in the last `trailing` dimensions.
Shape layer_statistics(const Tensor& input, int trailing);

/// A shape of one or two sizes.
inline Shape shape_of(int64_t a) {
  Shape shape;
  shape.append(a);
  return shape;
}
inline Shape shape_of(int64_t a, int64_t b) {
  Shape shape = shape_of(a);
  shape.append(b);
  return shape;
}

}  // namespace executorch::kernels::portable
