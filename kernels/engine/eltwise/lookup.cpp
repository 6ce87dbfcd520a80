// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/eltwise/lookup.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace executorch::kernels::engine {
namespace {

constexpr size_t kSteps = 16;

void look_up(const uint8_t* results, const uint8_t* in, uint8_t* out, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = results[in[i]];
}

#if defined(__x86_64__)
/// A shuffle selects by the low half of a byte and gives 0 for a negative byte. Each step subtracts
/// 16 from the bytes, so byte 16 h + l takes part in the steps in which it is not negative: steps 0
/// to h for h < 8; steps h - 7 to h for larger h, whose bytes begin negative and wrap around. From
/// step 8 on the subtraction saturates, so no byte wraps around twice.
template <size_t kVectors>
__attribute__((target("avx2"), always_inline)) inline void look_up_vectors(const uint8_t* steps,
                                                                           const uint8_t* in,
                                                                           uint8_t* out) {
  const __m256i sixteen = _mm256_set1_epi8(16);
  __m256i bytes[kVectors], sums[kVectors];
  for (size_t v = 0; v < kVectors; ++v) {
    bytes[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + 32 * v));
    sums[v] = _mm256_setzero_si256();
  }
#pragma GCC unroll 16
  for (size_t k = 0; k < kSteps; ++k) {
    const __m256i step = _mm256_broadcastsi128_si256(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(steps + 16 * k)));
    for (size_t v = 0; v < kVectors; ++v) {
      sums[v] = _mm256_xor_si256(sums[v], _mm256_shuffle_epi8(step, bytes[v]));
      bytes[v] = k < 8 ? _mm256_sub_epi8(bytes[v], sixteen) : _mm256_subs_epi8(bytes[v], sixteen);
    }
  }
  for (size_t v = 0; v < kVectors; ++v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 32 * v), sums[v]);
  }
}

__attribute__((target("avx2"))) void look_up_avx2(const uint8_t* results, const uint8_t* steps,
                                                  const uint8_t* in, uint8_t* out, size_t count) {
  constexpr size_t kVectors = 4, kBlock = 32 * kVectors;
  size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) look_up_vectors<kVectors>(steps, in + i, out + i);
  for (; i + 32 <= count; i += 32) look_up_vectors<1>(steps, in + i, out + i);
  look_up(results, in + i, out + i, count - i);
}
#endif

}  // namespace

LookupTable::LookupTable(const uint8_t* results) {
  std::memcpy(results_, results, kSize);
  for (size_t i = 0; i < kSize; ++i) {
    steps_[i] = static_cast<uint8_t>(results[i] ^ (i < 16 ? 0 : results[i - 16]) ^
                                     (i < 128 ? 0 : steps_[i - 128]));
  }
}

void LookupTable::run(const uint8_t* in, uint8_t* out, size_t count, Threads& threads,
                      [[maybe_unused]] InstructionSet set) const {
  for_each_item(threads, divide_up(count, kElementsOfItem), [&](size_t item, size_t) {
    const size_t first = item * kElementsOfItem, n = std::min(kElementsOfItem, count - first);
#if defined(__x86_64__)
    if (set >= InstructionSet::Avx2) {
      look_up_avx2(results_, steps_, in + first, out + first, n);
      return;
    }
#endif
    look_up(results_, in + first, out + first, n);
  });
}

}  // namespace executorch::kernels::engine
