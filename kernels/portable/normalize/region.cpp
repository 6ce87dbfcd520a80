// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/normalize/region.h>

#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/loops/loop_nest.h>

#include <algorithm>
#include <cmath>

namespace executorch::kernels::portable {
namespace {

/// The dimensions of a memory that are in the mask.
Strided subset(const Strided& memory, uint32_t mask) {
  Strided result = memory;
  result.rank = 0;
  for (int d = 0; d < memory.rank; ++d) {
    if (mask >> d & 1) result.append(memory.sizes[d], memory.strides[d]);
  }
  return result;
}

/// Where the region of this number starts in the memory, given its kept dimensions.
int64_t offset_of(const Strided& kept, int64_t region) {
  int64_t offset = 0;
  for (int d = kept.rank - 1; d >= 0; --d) {
    offset += region % kept.sizes[d] * kept.strides[d];
    region /= kept.sizes[d];
  }
  return offset;
}

/// The sum of f(x[i]), in several partial sums: faster, and more exact than one.
template <class T, class F>
T sum_of(const T* x, int64_t n, F&& f) {
  constexpr int64_t kParts = 8;
  T parts[kParts] = {};
  int64_t i = 0;
  for (; i + kParts <= n; i += kParts) {
    for (int64_t p = 0; p < kParts; ++p) parts[p] += f(x[i + p]);
  }
  T sum = 0;
  for (; i < n; ++i) sum += f(x[i]);
  for (const T part : parts) sum += part;
  return sum;
}

template <class T>
class Normalizer {
 public:
  explicit Normalizer(const Normalization& n)
      : n_(n),
        in_reader_(n.in.dtype),
        weight_reader_(n.weight.data ? n.weight.dtype : n.in.dtype),
        bias_reader_(n.bias.data ? n.bias.dtype : n.in.dtype),
        store_(store(compute_type<T>, n.out.dtype)),
        weight_(n.weight.data ? n.weight : n.in),
        bias_(n.bias.data ? n.bias : n.in),
        inner_(inner_loops()) {}

  void run() {
    const Strided kept[] = {subset(n_.out, n_.kept), subset(n_.in, n_.kept),
                            subset(weight_, n_.kept), subset(bias_, n_.kept)};
    const int64_t regions = kept[0].numel();
    for (int64_t region = 0; region < regions; ++region) {
      for (int k = 0; k < 4; ++k) offset_[k] = offset_of(kept[k], region);
      T mean = 0, variance = 0;
      measure(&mean, &variance);
      const T rstd = 1 / std::sqrt(variance + T(n_.eps));
      write_statistic(n_.mean, region, mean);
      write_statistic(n_.variance, region, variance);
      write_statistic(n_.rstd, region, rstd);
      apply(mean, rstd);
    }
  }

 private:
  LoopNest inner_loops() const {
    const Strided inner[] = {subset(n_.out, ~n_.kept), subset(n_.in, ~n_.kept),
                             subset(weight_, ~n_.kept), subset(bias_, ~n_.kept)};
    const Strided* const operands[] = {&inner[0], &inner[1], &inner[2], &inner[3]};
    return LoopNest(operands, 4);
  }

  void write_statistic(const Strided& to, int64_t region, T value) {
    if (to.data) write<T>(value, to.data + region * to.element_size(), to.dtype);
  }

  /// Calls f(pointers at a block of a row, its length).
  template <class F>
  void for_each_block(F&& f) {
    inner_.for_each_row([&](char* const* row) {
      for (int64_t i = 0; i < inner_.row(); i += kBlock) {
        char* at[4];
        for (int k = 0; k < 4; ++k) at[k] = row[k] + offset_[k] + i * inner_.stride(k);
        f(at, std::min(kBlock, inner_.row() - i));
      }
    });
  }

  void measure(T* mean, T* variance) {
    T sum = 0;
    int64_t count = 0;
    for_each_block([&](char* const* at, int64_t n) {
      const T* x = in_reader_(at[1], inner_.stride(1), n);
      sum += sum_of(x, n, [](T value) { return value; });
      count += n;
    });
    *mean = sum / T(count);
    const T center = *mean;
    T squares = 0;
    for_each_block([&](char* const* at, int64_t n) {
      const T* x = in_reader_(at[1], inner_.stride(1), n);
      squares += sum_of(x, n, [center](T value) { return (value - center) * (value - center); });
    });
    *variance = squares / T(count);
  }

  void apply(T mean, T rstd) {
    T result[kBlock];
    for_each_block([&](char* const* at, int64_t n) {
      const T* x = in_reader_(at[1], inner_.stride(1), n);
      for (int64_t i = 0; i < n; ++i) result[i] = (x[i] - mean) * rstd;
      if (n_.weight.data) {
        const T* w = weight_reader_(at[2], inner_.stride(2), n);
        for (int64_t i = 0; i < n; ++i) result[i] *= w[i];
      }
      if (n_.bias.data) {
        const T* b = bias_reader_(at[3], inner_.stride(3), n);
        for (int64_t i = 0; i < n; ++i) result[i] += b[i];
      }
      store_(at[0], inner_.stride(0), reinterpret_cast<const char*>(result), sizeof(T), n);
    });
  }

  const Normalization& n_;
  Reader<T> in_reader_, weight_reader_, bias_reader_;
  Convert store_;
  Strided weight_, bias_;
  LoopNest inner_;
  int64_t offset_[4] = {};
};

}  // namespace

void normalize_regions(const Normalization& n) {
  if (n.in.dtype == ScalarType::Double) {
    Normalizer<double>(n).run();
  } else {
    Normalizer<float>(n).run();
  }
}

bool expect_floating(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor) {
  return ET_EXPECT(ctx, is_floating(tensor.scalar_type()), "%s must be floating point, found %s",
                   name, name_of(tensor.scalar_type()));
}

Strided along(const std::optional<Tensor>& tensor, const Strided& like, int dim) {
  Strided result;
  if (!tensor) return result;
  const Strided vector(*tensor);
  result.data = vector.data;
  result.dtype = vector.dtype;
  for (int d = 0; d < like.rank; ++d) {
    result.append(like.sizes[d], d == dim ? vector.strides[0] : 0);
  }
  return result;
}

}  // namespace executorch::kernels::portable
