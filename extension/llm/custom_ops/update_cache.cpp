// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Writes keys and values into their caches, [batch, positions, heads, channels], in place.
#include <cstring>

#include <executorch/extension/llm/custom_ops/NativeFunctions.h>
#include <executorch/extension/llm/custom_ops/check.h>
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>

namespace executorch::extension::llm {

using aten::RuntimeContext;
using aten::ScalarType;
using aten::Tensor;
using kernels::ShapeText;

bool expect_contiguous(RuntimeContext& ctx, const char* name, const Tensor& tensor, int rank) {
  const auto order = tensor.dim_order();
  return ET_EXPECT(ctx, tensor.dim() == rank, "%s: expected %d dimensions, found %zd", name, rank,
                   ssize_t(tensor.dim())) &&
         ET_EXPECT(ctx, runtime::is_contiguous_dim_order(order.data(), order.size()),
                   "%s: expected a contiguous tensor", name);
}

bool expect_positions(RuntimeContext& ctx, int64_t start_pos, int64_t count, int64_t capacity) {
  return ET_EXPECT(ctx, start_pos >= 0 && start_pos <= capacity && count <= capacity - start_pos,
                   "start_pos: %" PRId64 " and %" PRId64
                   " positions after it do not fit a cache of %" PRId64 " positions",
                   start_pos, count, capacity);
}

bool expect_same_or_reduced(RuntimeContext& ctx, const char* name_a, const Tensor& a,
                            const char* name_b, const Tensor& b) {
  const ScalarType from = a.scalar_type(), to = b.scalar_type();
  const bool is_reduced =
      from == ScalarType::Float && (to == ScalarType::Half || to == ScalarType::BFloat16);
  return ET_EXPECT(ctx, from == to || is_reduced,
                   "%s and %s must have one dtype, or float32 and a dtype of 16 bits, found %s and "
                   "%s",
                   name_a, name_b, runtime::toString(from), runtime::toString(to));
}

bool expect_cache(RuntimeContext& ctx, const Tensor& value, const Tensor& cache) {
  return expect_contiguous(ctx, "value", value, 4) && expect_contiguous(ctx, "cache", cache, 4) &&
         expect_same_or_reduced(ctx, "value", value, "cache", cache) &&
         ET_EXPECT(ctx,
                   value.size(0) <= cache.size(0) && value.size(2) == cache.size(2) &&
                       value.size(3) == cache.size(3),
                   "value and cache: expected a batch that fits, and the same heads and channels, "
                   "found %s and %s",
                   ShapeText(value).text, ShapeText(cache).text);
}

namespace {

/// Writes elements of `value` into the cache, which may have another dtype; both positions count
/// elements.
class Writer final {
 public:
  /// Fails the context for dtypes that this build does not convert.
  Writer(RuntimeContext& ctx, const Tensor& value, Tensor& cache)
      : from_(static_cast<const char*>(value.const_data_ptr())),
        to_(static_cast<char*>(cache.mutable_data_ptr())),
        from_size_(value.element_size()),
        to_size_(cache.element_size()) {
    if (value.scalar_type() == cache.scalar_type()) return;
    convert_ = kernels::store(kernels::Compute::Float, cache.scalar_type());
    is_valid_ = ET_EXPECT(ctx, convert_ != nullptr, "cache: this build has no conversion to %s",
                          runtime::toString(cache.scalar_type()));
  }
  bool valid() const { return is_valid_; }
  void write(int64_t from, int64_t to, int64_t count) const {
    char* const place = to_ + to_size_ * size_t(to);
    const char* const source = from_ + from_size_ * size_t(from);
    if (convert_ == nullptr) {
      std::memcpy(place, source, to_size_ * size_t(count));
    } else {
      convert_(place, int64_t(to_size_), source, int64_t(from_size_), count);
    }
  }

 private:
  const char* from_;
  char* to_;
  size_t from_size_, to_size_;
  kernels::Convert convert_ = nullptr;
  bool is_valid_ = true;
};

}  // namespace

bool write_cache(RuntimeContext& ctx, const Tensor& value, Tensor& cache, int64_t start_pos) {
  if (!expect_cache(ctx, value, cache) ||
      !expect_positions(ctx, start_pos, value.size(1), cache.size(1))) {
    return false;
  }
  const int64_t position = int64_t(value.size(2)) * value.size(3);
  const int64_t count = position * value.size(1);
  if (count == 0) return true;
  const Writer writer(ctx, value, cache);
  if (!writer.valid()) return false;
  for (int64_t batch = 0; batch < value.size(0); ++batch) {
    writer.write(count * batch, position * (batch * cache.size(1) + start_pos), count);
  }
  return true;
}

namespace {

/// The result of operators whose effect is on the cache: one element, zero.
Tensor& write_token(RuntimeContext& ctx, Tensor& out) {
  kernels::Shape one;
  one.append(1);
  if (kernels::resize(ctx, out, one)) std::memset(out.mutable_data_ptr(), 0, out.nbytes());
  return out;
}

bool expect_index(RuntimeContext& ctx, int64_t index, int64_t capacity) {
  return ET_EXPECT(ctx, index >= -1 && index < capacity,
                   "indices: expected -1 or a position below %" PRId64 ", found %" PRId64, capacity,
                   index);
}

template <class Index>
bool write_positions(RuntimeContext& ctx, const Tensor& value, Tensor& cache,
                     const Tensor& indices) {
  // Another thread may change the indices meanwhile: each is loaded once for check and use.
  const volatile Index* const at = indices.const_data_ptr<Index>();
  const int64_t capacity = cache.size(1);
  for (ssize_t i = 0; i < indices.numel(); ++i) {
    if (!expect_index(ctx, at[i], capacity)) return false;
  }
  const int64_t position = int64_t(value.size(2)) * value.size(3);
  if (position == 0) return true;
  const Writer writer(ctx, value, cache);
  if (!writer.valid()) return false;
  for (int64_t i = 0; i < int64_t(value.size(0)) * value.size(1); ++i) {
    const int64_t index = at[i];
    if (!expect_index(ctx, index, capacity)) return false;
    if (index < 0) continue;
    const int64_t batch = i / value.size(1);
    writer.write(position * i, position * (batch * capacity + index), position);
  }
  return true;
}

}  // namespace
}  // namespace executorch::extension::llm

namespace llama::native {

namespace llm = executorch::extension::llm;
using executorch::aten::RuntimeContext;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;

Tensor& update_cache_out(RuntimeContext& ctx, const Tensor& value, Tensor& cache, int64_t start_pos,
                         Tensor& out) {
  return llm::write_cache(ctx, value, cache, start_pos) ? llm::write_token(ctx, out) : out;
}

Tensor& update_cache_with_indices_out(RuntimeContext& ctx, const Tensor& value, Tensor& cache,
                                      int64_t start_pos, const Tensor& indices, Tensor& out) {
  if (!llm::expect_cache(ctx, value, cache) ||
      !llm::expect_contiguous(ctx, "indices", indices, 2) ||
      !executorch::kernels::expect_index_dtype(ctx, "indices", indices) ||
      !ET_EXPECT(ctx, indices.size(0) == value.size(0) && indices.size(1) == value.size(1),
                 "indices: expected one for each batch and position of value %s, found %s",
                 executorch::kernels::ShapeText(value).text,
                 executorch::kernels::ShapeText(indices).text) ||
      !ET_EXPECT(ctx, start_pos >= 0, "start_pos: expected 0 or more, found %" PRId64, start_pos)) {
    return out;
  }
  const bool written = indices.scalar_type() == ScalarType::Long
                           ? llm::write_positions<int64_t>(ctx, value, cache, indices)
                           : llm::write_positions<int32_t>(ctx, value, cache, indices);
  return written ? llm::write_token(ctx, out) : out;
}

}  // namespace llama::native
