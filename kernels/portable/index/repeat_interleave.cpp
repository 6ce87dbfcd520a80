// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Indices repeated by counts.
#include <executorch/kernels/loops/memory/positions.h>
#include <executorch/kernels/loops/memory/strided.h>
#include <executorch/kernels/portable/NativeFunctions.h>

#include <algorithm>

namespace executorch::kernels::portable {
namespace {

template <class T>
const T* count_at(const Strided& counts, int64_t i) {
  return reinterpret_cast<const T*>(counts.data + i * counts.strides[0]);
}

/// The sum of the counts. Fails the context where one is negative or the sum too large.
template <class T>
bool sum_counts(KernelRuntimeContext& ctx, const Strided& counts, int64_t* sum) {
  *sum = 0;
  for (int64_t i = 0; i < counts.sizes[0]; ++i) {
    const int64_t times = load_index(count_at<T>(counts, i));
    if (!ET_EXPECT(ctx, times >= 0 && times <= INT32_MAX - *sum,
                   "repeats[%" PRId64 "] = %" PRId64 " is out of range", i, times)) {
      return false;
    }
    *sum += times;
  }
  return true;
}

/// Writes each index as often as its count, `left` indices in all: counts may alias out, so cap at
/// `left`.
template <class T>
void repeat_indices(const Strided& counts, T* to, int64_t left) {
  constexpr int64_t kFew =
      4;  // written for every count, because small counts are unpredictable branches
  for (int64_t i = 0; i < counts.sizes[0]; ++i) {
    const int64_t times = std::clamp(load_index(count_at<T>(counts, i)), int64_t(0), left);
    std::fill_n(to, left >= kFew && times <= kFew ? kFew : times, static_cast<T>(i));
    to += times;
    left -= times;
  }
}

template <class T>
void repeat_interleave(KernelRuntimeContext& ctx, const Tensor& repeats,
                       std::optional<int64_t> output_size, Tensor& out) {
  const Strided counts(repeats);
  Shape shape;
  shape.append(0);
  if (sum_counts<T>(ctx, counts, &shape.sizes[0]) &&
      ET_EXPECT(ctx, !output_size.has_value() || *output_size == shape.sizes[0],
                "repeats add up to %" PRId64 ", not to output_size %" PRId64, shape.sizes[0],
                output_size.value_or(0)) &&
      resize(ctx, out, shape)) {
    repeat_indices(counts, static_cast<T*>(out.mutable_data_ptr()), shape.sizes[0]);
  }
}

}  // namespace

Tensor& repeat_interleave_tensor_out(KernelRuntimeContext& ctx, const Tensor& repeats,
                                     std::optional<int64_t> output_size, Tensor& out) {
  if (!expect_index_dtype(ctx, "repeats", repeats) ||
      !expect_same_dtype(ctx, "repeats", repeats, "out", out) ||
      !ET_EXPECT(ctx, repeats.dim() == 1, "repeats must have rank 1, found %d",
                 static_cast<int>(repeats.dim()))) {
    return out;
  }
  const bool is_long = repeats.scalar_type() == ScalarType::Long;
  is_long ? repeat_interleave<int64_t>(ctx, repeats, output_size, out)
          : repeat_interleave<int32_t>(ctx, repeats, output_size, out);
  return out;
}
}  // namespace executorch::kernels::portable
