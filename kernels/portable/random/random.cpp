// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/random/random.h>

#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/random/normal.h>

#include <atomic>
#include <cmath>
#include <cstring>

namespace executorch::kernels::portable {
namespace {

// Words of 32 bits, the widest that every target can change atomically without a lock.
std::atomic<uint32_t> seed_low{0}, seed_high{0}, streams_taken{0};

/// One call's stream of random bits.
class Stream {
 public:
  Stream()
      : key_{seed_low.load(), seed_high.load()},
        stream_(streams_taken.fetch_add(1, std::memory_order_relaxed)) {}

  uint32_t word() {
    if (used_ == kWords) {
      make_words();
      used_ = 0;
    }
    return words_[used_++];
  }
  uint64_t two_words() {
    const uint64_t high = word();
    return high << 32 | word();
  }
  /// In [0, 1), a multiple of 2^-bits; bits ≤ 53.
  double uniform(int bits) {
    const uint64_t number = bits <= 32 ? word() >> (32 - bits) : two_words() >> (64 - bits);
    // 2^-bits, by its exponent.
    const uint64_t exponent = static_cast<uint64_t>(1023 - bits) << 52;
    double scale;
    std::memcpy(&scale, &exponent, sizeof(scale));
    return static_cast<double>(number) * scale;
  }
  /// In [0, count). Not exactly uniform, by less than count/2^64.
  uint64_t below(uint64_t count) { return two_words() % count; }

 private:
  // Several blocks of four words at a time: their rounds do not wait for each other.
  void make_words() {
    in_vectors([](Stream* stream) { stream->make_blocks(); }, this);
    index_ += kBlocks;
  }
  void make_blocks() {
    uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks], c3[kBlocks];
    for (int i = 0; i < kBlocks; ++i) {
      c0[i] = static_cast<uint32_t>(index_ + static_cast<uint64_t>(i));
      c1[i] = static_cast<uint32_t>((index_ + static_cast<uint64_t>(i)) >> 32);
      c2[i] = stream_;
      c3[i] = 0;
    }
    uint32_t k0 = key_[0], k1 = key_[1];
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
      for (int i = 0; i < kBlocks; ++i) {
        const uint64_t a = uint64_t{0xD2511F53} * c0[i], b = uint64_t{0xCD9E8D57} * c2[i];
        c0[i] = static_cast<uint32_t>(b >> 32) ^ c1[i] ^ k0;
        c1[i] = static_cast<uint32_t>(b);
        c2[i] = static_cast<uint32_t>(a >> 32) ^ c3[i] ^ k1;
        c3[i] = static_cast<uint32_t>(a);
      }
    }
    for (int i = 0; i < kBlocks; ++i) {
      uint32_t* const block = words_ + 4 * i;
      block[0] = c0[i], block[1] = c1[i], block[2] = c2[i], block[3] = c3[i];
    }
  }

  // Sized for AVX-512 registers; on small devices, for their stacks.
  static constexpr int kBlocks = is_bare_metal ? 4 : 32, kWords = 4 * kBlocks;
  uint32_t key_[2], stream_;
  uint64_t index_ = 0;
  uint32_t words_[kWords];
  int used_ = kWords;
};

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

bool expect_floating(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor) {
  return ET_EXPECT(ctx, is_floating(tensor.scalar_type()), "%s must be floating point, found %s",
                   name, name_of(tensor.scalar_type()));
}

/// Programs hold no generators: there is one, the process's.
bool expect_no_generator(KernelRuntimeContext& ctx, const std::optional<int64_t>& generator) {
  return ET_EXPECT(ctx, !generator.has_value(), "generator must be None");
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

namespace {

/// Draws a category by weight: the first one whose cumulative weight exceeds a random number below
/// the sum, or the last one with a weight, in case of rounding errors.
int64_t pick(Stream& stream, const double* weights, int64_t n, double sum) {
  const double mark = stream.uniform(53) * sum;
  double reached = 0;
  int64_t last = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (weights[i] == 0) continue;
    reached += weights[i];
    last = i;
    if (reached > mark) break;
  }
  return last;
}

/// The weights of one distribution: their sum, or a refusal.
bool read_weights(KernelRuntimeContext& ctx, const char* from, int64_t stride, ScalarType dtype,
                  int64_t n, int64_t needed, double* weights, double* sum) {
  load(dtype, Compute::Double)(reinterpret_cast<char*>(weights), sizeof(double), from, stride, n);
  int64_t positive = 0;
  *sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!ET_EXPECT(ctx, weights[i] >= 0 && std::isfinite(weights[i]),
                   "weights must be finite and not negative, found %g", weights[i])) {
      return false;
    }
    positive += weights[i] > 0;
    *sum += weights[i];
  }
  return ET_EXPECT(ctx, positive >= needed,
                   "%" PRId64 " samples need as many categories of positive weight, found %" PRId64,
                   needed, positive);
}

}  // namespace

Tensor& multinomial_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t num_samples,
                        bool replacement, std::optional<int64_t> generator, Tensor& out) {
  Shape shape(self);
  if (!expect_no_generator(ctx, generator) || !expect_floating(ctx, "self", self) ||
      !expect_dtype(ctx, "out", out, ScalarType::Long) ||
      !ET_EXPECT(ctx, num_samples > 0 && (shape.rank == 1 || shape.rank == 2),
                 "num_samples must be positive and self of rank 1 or 2, found %" PRId64
                 " and rank %d",
                 num_samples, shape.rank)) {
    return out;
  }
  const int64_t n = shape.sizes[shape.rank - 1];
  shape.sizes[shape.rank - 1] = num_samples;
  if (!resize(ctx, out, shape)) return out;
  auto* const weights = allocate<double>(ctx, n);
  if (weights == nullptr) return out;
  Strided from(self), to(out);
  if (shape.rank == 1) from.insert(0, 1, 0), to.insert(0, 1, 0);
  Stream stream;
  for (int64_t row = 0; row < to.sizes[0]; ++row) {
    double sum;
    if (!read_weights(ctx, from.data + row * from.strides[0], from.strides[1], from.dtype, n,
                      replacement ? 1 : num_samples, weights, &sum)) {
      return out;
    }
    for (int64_t i = 0; i < num_samples; ++i) {
      const int64_t picked = pick(stream, weights, n, sum);
      *reinterpret_cast<int64_t*>(to.data + row * to.strides[0] + i * to.strides[1]) = picked;
      if (replacement) continue;
      sum -= weights[picked];
      weights[picked] = 0;
    }
  }
  return out;
}

}  // namespace executorch::kernels::portable

void executorch_manual_seed(uint64_t seed) { executorch::kernels::portable::manual_seed(seed); }
