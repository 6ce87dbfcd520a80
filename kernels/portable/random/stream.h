// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// One call's random bits (random.h says how they are made), and the checks of all random operators.
#pragma once

#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/loops/memory/check_floating.h>

#include <cstring>
#include <optional>

namespace executorch::kernels::portable {

/// One call's stream of random bits.
class Stream {
 public:
  /// Takes the next stream of the process.
  Stream();

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

/// Programs hold no generators: there is one, the process's.
inline bool expect_no_generator(KernelRuntimeContext& ctx,
                                const std::optional<int64_t>& generator) {
  return ET_EXPECT(ctx, !generator.has_value(), "generator must be None");
}

}  // namespace executorch::kernels::portable
