// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/random/random.h>

#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/random/normal.h>
#include <executorch/kernels/portable/random/stream.h>

#include <atomic>
#include <cmath>

namespace executorch::kernels::portable {
namespace {

// Words of 32 bits, the widest that every target can change atomically without a lock.
std::atomic<uint32_t> seed_low{0}, seed_high{0}, streams_taken{0};

}  // namespace

Stream::Stream()
    : key_{seed_low.load(), seed_high.load()},
      stream_(streams_taken.fetch_add(1, std::memory_order_relaxed)) {}

namespace {

/// Normal numbers, some at a time.
class Normal {
 public:
  double next(Stream& stream) {
    if (used_ == kNormals) {
      double uniform[kNormals];
      for (double& u : uniform) u = stream.uniform(53);
      in_vectors([](const double* u, double* normal) { make_normals(u, normal); }, uniform,
                 normals_);
      used_ = 0;
    }
    return normals_[used_++];
  }

 private:
  double normals_[kNormals];
  int used_ = kNormals;
};

/// Sets each element, in index order, to the next result of make().
template <class C, class Make>
void fill_in_order(const Strided& to, Make&& make) {
  const Convert writer = store(compute_type<C>, to.dtype);
  const bool dense = in_index_order(to);
  const int64_t n = to.numel(), bytes = to.element_size();
  IndexWalk walk(to);
  C block[kBlock];
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = n - first < kBlock ? n - first : kBlock;
    for (int64_t i = 0; i < count; ++i) block[i] = make();
    if (dense) {
      writer(to.data + first * bytes, bytes, reinterpret_cast<const char*>(block), sizeof(C),
             count);
      continue;
    }
    for (int64_t i = 0; i < count; ++i) {
      writer(walk.next(), 0, reinterpret_cast<const char*>(block + i), 0, 1);
    }
  }
}

bool resize_to(KernelRuntimeContext& ctx, Tensor& out, ArrayRef<int64_t> size) {
  return ET_EXPECT(ctx, Shape::fits(size), "size must have at most %d items, found %zu", kMaxRank,
                   size.size()) &&
         resize(ctx, out, Shape(size));
}

/// The largest number of bits for which the dtype represents every multiple of 2^-bits below 1.
int bits_of(ScalarType dtype) {
  return dtype == ScalarType::Half       ? 11
         : dtype == ScalarType::BFloat16 ? 8
         : dtype == ScalarType::Float    ? 24
                                         : 53;
}

void fill_uniform(KernelRuntimeContext& ctx, Tensor& out) {
  if (!expect_floating(ctx, "out", out)) return;
  Stream stream;
  const int bits = bits_of(out.scalar_type());
  fill_in_order<double>(Strided(out), [&] { return stream.uniform(bits); });
}

void fill_normal(KernelRuntimeContext& ctx, Tensor& out) {
  if (!expect_floating(ctx, "out", out)) return;
  Stream stream;
  Normal normal;
  fill_in_order<double>(Strided(out), [&] { return normal.next(stream); });
}

/// The largest integer such that the dtype represents all integers up to it.
int64_t largest_integer(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Bool:
      return 1;
    case ScalarType::Byte:
      return UINT8_MAX;
    case ScalarType::Char:
      return INT8_MAX;
    case ScalarType::Short:
      return INT16_MAX;
    case ScalarType::UInt16:
      return UINT16_MAX;
    case ScalarType::Int:
      return INT32_MAX;
    case ScalarType::UInt32:
      return UINT32_MAX;
    default:
      return is_floating(dtype) ? int64_t{1} << bits_of(dtype) : INT64_MAX;
  }
}

void fill_integers(KernelRuntimeContext& ctx, int64_t low, int64_t high, Tensor& out) {
  const ScalarType dtype = out.scalar_type();
  const int64_t limit = largest_integer(dtype);
  const bool is_signed = is_floating(dtype) || dtype == ScalarType::Char ||
                         dtype == ScalarType::Short || dtype == ScalarType::Int ||
                         dtype == ScalarType::Long;
  if (!ET_EXPECT(ctx, kind_of(dtype) != Kind::Unsupported && low < high,
                 "no integers of dtype %s are in [%" PRId64 ", %" PRId64 ")", name_of(dtype), low,
                 high) ||
      !ET_EXPECT(ctx, high - 1 <= limit && low >= (is_signed ? -limit - !is_floating(dtype) : 0),
                 "[%" PRId64 ", %" PRId64 ") goes beyond what %s holds", low, high,
                 name_of(dtype))) {
    return;
  }
  Stream stream;
  const uint64_t count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  fill_in_order<int64_t>(Strided(out), [&] {
    return static_cast<int64_t>(static_cast<uint64_t>(low) + stream.below(count));
  });
}

}  // namespace

void manual_seed(uint64_t seed) {
  seed_low = static_cast<uint32_t>(seed);
  seed_high = static_cast<uint32_t>(seed >> 32);
  streams_taken = 0;
}

Tensor& rand_out(KernelRuntimeContext& ctx, ArrayRef<int64_t> size, Tensor& out) {
  if (resize_to(ctx, out, size)) fill_uniform(ctx, out);
  return out;
}
Tensor& rand_like_out(KernelRuntimeContext& ctx, const Tensor& self, std::optional<MemoryFormat>,
                      Tensor& out) {
  if (resize_like(ctx, out, self)) fill_uniform(ctx, out);
  return out;
}
Tensor& randn_out(KernelRuntimeContext& ctx, ArrayRef<int64_t> size, Tensor& out) {
  if (resize_to(ctx, out, size)) fill_normal(ctx, out);
  return out;
}
Tensor& randn_like_out(KernelRuntimeContext& ctx, const Tensor& self, std::optional<MemoryFormat>,
                       Tensor& out) {
  if (resize_like(ctx, out, self)) fill_normal(ctx, out);
  return out;
}
Tensor& randint_out(KernelRuntimeContext& ctx, int64_t high, ArrayRef<int64_t> size, Tensor& out) {
  if (resize_to(ctx, out, size)) fill_integers(ctx, 0, high, out);
  return out;
}
Tensor& randint_low_out(KernelRuntimeContext& ctx, int64_t low, int64_t high,
                        ArrayRef<int64_t> size, Tensor& out) {
  if (resize_to(ctx, out, size)) fill_integers(ctx, low, high, out);
  return out;
}
Tensor& randint_like_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t high,
                         std::optional<MemoryFormat>, Tensor& out) {
  if (resize_like(ctx, out, self)) fill_integers(ctx, 0, high, out);
  return out;
}
Tensor& randint_like_low_dtype_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t low,
                                   int64_t high, std::optional<MemoryFormat>, Tensor& out) {
  if (resize_like(ctx, out, self)) fill_integers(ctx, low, high, out);
  return out;
}

Tensor& randperm_out(KernelRuntimeContext& ctx, int64_t n, Tensor& out) {
  const int64_t size[] = {n};
  if (!expect_number(ctx, "out", out) ||
      !ET_EXPECT(ctx, n >= 0 && n - 1 <= largest_integer(out.scalar_type()),
                 "a permutation of %" PRId64 " does not fit dtype %s", n,
                 name_of(out.scalar_type())) ||
      !resize_to(ctx, out, {size, 1})) {
    return out;
  }
  auto* const order = allocate<int64_t>(ctx, n);
  if (order == nullptr) return out;
  Stream stream;
  for (int64_t i = 0; i < n; ++i) {
    const auto j = static_cast<int64_t>(stream.below(static_cast<uint64_t>(i) + 1));
    order[i] = order[j];
    order[j] = i;
  }
  const int64_t* next = order;
  fill_in_order<int64_t>(Strided(out), [&] { return *next++; });
  return out;
}

Tensor& bernoulli_out(KernelRuntimeContext& ctx, const Tensor& self,
                      std::optional<int64_t> generator, Tensor& out) {
  if (!expect_no_generator(ctx, generator) || !expect_floating(ctx, "self", self) ||
      !expect_number(ctx, "out", out) || !resize_like(ctx, out, self)) {
    return out;
  }
  const Strided chances(self);
  const Convert reader = load(chances.dtype, Compute::Double);
  IndexWalk walk(chances);
  Stream stream;
  bool valid = true;
  fill_in_order<int64_t>(Strided(out), [&] {
    double p;
    reader(reinterpret_cast<char*>(&p), 0, walk.next(), 0, 1);
    valid = valid && p >= 0 && p <= 1;
    return int64_t{stream.uniform(32) < p};
  });
  static_cast<void>(ET_EXPECT(ctx, valid, "self must hold only numbers in [0, 1]"));
  return out;
}

Tensor& bernoulli_float_out(KernelRuntimeContext& ctx, const Tensor& self, double p,
                            std::optional<int64_t> generator, Tensor& out) {
  if (expect_no_generator(ctx, generator) && expect_number(ctx, "out", out) &&
      ET_EXPECT(ctx, p >= 0 && p <= 1, "p must be within [0, 1], found %g", p) &&
      resize_like(ctx, out, self)) {
    Stream stream;
    fill_in_order<int64_t>(Strided(out), [&] { return int64_t{stream.uniform(32) < p}; });
  }
  return out;
}

std::tuple<Tensor&, Tensor&> native_dropout_out(KernelRuntimeContext& ctx, const Tensor& input,
                                                double p, std::optional<bool> train, Tensor& out0,
                                                Tensor& out1) {
  std::tuple<Tensor&, Tensor&> result(out0, out1);
  const bool drops = train.value_or(true);
  if (!ET_EXPECT(ctx, p >= 0 && p <= 1, "p must be within [0, 1], found %g", p) ||
      !expect_floating(ctx, "input", input) ||
      !expect_same_dtype(ctx, "input", input, "out0", out0) ||
      !expect_dtype(ctx, "out1", out1, ScalarType::Bool) || !resize_like(ctx, out0, input) ||
      !resize_like(ctx, out1, input)) {
    return result;
  }
  Stream stream;
  const Strided from(input), mask(out1);
  fill_in_order<int64_t>(mask, [&] { return int64_t{!drops || stream.uniform(32) < 1 - p}; });
  if (!drops) {
    copy(ctx, Strided(out0), from);
    return result;
  }
  const Convert reader = load(from.dtype, Compute::Double);
  const double scale = p == 1 ? 0 : 1 / (1 - p);
  IndexWalk values(from), kept(mask);
  fill_in_order<double>(Strided(out0), [&] {
    double x;
    reader(reinterpret_cast<char*>(&x), 0, values.next(), 0, 1);
    return x * *kept.next() * scale;
  });
  return result;
}

}  // namespace executorch::kernels::portable

void executorch_manual_seed(uint64_t seed) { executorch::kernels::portable::manual_seed(seed); }
