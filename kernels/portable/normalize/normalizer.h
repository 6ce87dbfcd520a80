// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The loops of a normalization: the moments of a region, then its elements by them.
#pragma once

#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/loops/memory/divide.h>
#include <executorch/kernels/loops/memory/loop_nest.h>
#include <executorch/kernels/portable/normalize/region.h>

#include <algorithm>
#include <cmath>

namespace executorch::kernels::portable {

/// out = (in - mean) * rstd * weight + bias. All memories have the sizes of `in`. Statistics are at
/// the first element of each region; those with null data are not written.
struct Normalization {
  Strided out, in;
  Strided weight, bias;
  uint32_t kept = 0;  ///< mask of the dimensions along which regions are counted (region.h)
  double eps = 0;
  Strided mean, rstd, variance;  ///< of any floating dtype; the variance is the population's
};

/// Computes in T whatever the dtypes are. A region without elements has mean 0 and rstd NaN, as in
/// eager.
template <class T>
class Normalizer {
 public:
  explicit Normalizer(const Normalization& n)
      : n_(n),
        read_in_(n.in.dtype),
        read_weight_(n.weight.data ? n.weight.dtype : n.in.dtype),
        read_bias_(n.bias.data ? n.bias.dtype : n.in.dtype),
        store_(store(compute_type<T>, n.out.dtype)),
        inner_(inner_loops()) {}

  /// Normalizes all regions, on several threads if there is enough work.
  static void run(const Normalization& n) {
    const int64_t regions = subset(n.in, n.kept).numel();
    Division(regions, 1, n.in.numel()).run([&n](int64_t, int64_t begin, int64_t end) {
      Normalizer part(n);
      in_vectors([](Normalizer* self, int64_t from, int64_t to) { self->run_regions(from, to); },
                 &part, begin, end);
    });
  }

 private:
  void run_regions(int64_t begin, int64_t end) {
    const auto or_in = [this](const Strided& memory) { return memory.data ? &memory : &n_.in; };
    const Strided* const memories[] = {&n_.out,        &n_.in,         &weight(),         &bias(),
                                       or_in(n_.mean), or_in(n_.rstd), or_in(n_.variance)};
    RegionWalk<7> walk(memories, n_.kept);
    if (begin > 0) walk.skip(begin);
    for (int64_t left = end - begin; left > 0; --left, walk.next()) {
      for (int k = 0; k < 4; ++k) offset_[k] = walk.offset(k);
      const Moments moments = measure();
      const T rstd = 1 / std::sqrt(moments.variance() + T(n_.eps));
      write_statistic(n_.mean, walk.offset(4), moments.mean);
      write_statistic(n_.rstd, walk.offset(5), rstd);
      write_statistic(n_.variance, walk.offset(6), moments.variance());
      apply(moments.mean, rstd);
    }
  }

  /// Mean of `count` elements and the sum of their squared differences from it.
  struct Moments {
    T count = 0, mean = 0, squares = 0;

    T variance() const { return squares / count; }

    void add(const T* x, int64_t n) {
      const T size = T(n);
      const T center = sum_of<T>(n, [x](int64_t i) { return x[i]; }) / size;
      const T around = sum_of<T>(n, [=](int64_t i) { return (x[i] - center) * (x[i] - center); });
      if (count == 0) {
        mean = center;
      } else {
        // Two sets' moments from each one's: Chan, Golub, LeVeque, "Updating formulae and a
        // pairwise algorithm for computing sample variances" (1979).
        const T difference = center - mean, share = size / (count + size);
        mean += difference * share;
        squares += difference * difference * count * share;
      }
      squares += around;
      count += size;
    }
  };

  const Strided& weight() const { return n_.weight.data ? n_.weight : n_.in; }
  const Strided& bias() const { return n_.bias.data ? n_.bias : n_.in; }

  LoopNest inner_loops() const {
    const Strided inner[] = {subset(n_.out, ~n_.kept), subset(n_.in, ~n_.kept),
                             subset(weight(), ~n_.kept), subset(bias(), ~n_.kept)};
    const Strided* const operands[] = {&inner[0], &inner[1], &inner[2], &inner[3]};
    return LoopNest(operands, 4);
  }

  static void write_statistic(const Strided& to, int64_t offset, T value) {
    if (to.data) write<T>(value, to.data + offset, to.dtype);
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

  Moments measure() {
    Moments moments;
    for_each_block(
        [&](char* const* at, int64_t n) { moments.add(read_in_(at[1], inner_.stride(1), n), n); });
    return moments;
  }

  void apply(T mean, T rstd) {
    const bool in_place =
        n_.out.dtype == dtype_of(compute_type<T>) && inner_.stride(0) == sizeof(T);
    const bool constant_weight = !n_.weight.data || inner_.stride(2) == 0;
    const bool constant_bias = !n_.bias.data || inner_.stride(3) == 0;
    T block[kBlock];
    for_each_block([&](char* const* at, int64_t n) {
      const T* const x = read_in_(at[1], inner_.stride(1), n);
      T* const result = in_place ? reinterpret_cast<T*>(at[0]) : block;
      const int64_t read = constant_weight && constant_bias ? 1 : n;
      const T* const w = n_.weight.data ? read_weight_(at[2], inner_.stride(2), read) : nullptr;
      const T* const b = n_.bias.data ? read_bias_(at[3], inner_.stride(3), read) : nullptr;
      if (constant_weight && constant_bias) {
        const T factor = w ? rstd * *w : rstd, addend = b ? *b : T(0);
        for (int64_t i = 0; i < n; ++i) result[i] = (x[i] - mean) * factor + addend;
      } else {
        for (int64_t i = 0; i < n; ++i) result[i] = (x[i] - mean) * rstd;
        if (w)
          for (int64_t i = 0; i < n; ++i) result[i] *= w[i];
        if (b)
          for (int64_t i = 0; i < n; ++i) result[i] += b[i];
      }
      if (!in_place) {
        store_(at[0], inner_.stride(0), reinterpret_cast<const char*>(block), sizeof(T), n);
      }
    });
  }

  const Normalization& n_;
  Reader<T> read_in_, read_weight_, read_bias_;
  Convert store_;
  LoopNest inner_;
  int64_t offset_[4] = {};
};

}  // namespace executorch::kernels::portable
