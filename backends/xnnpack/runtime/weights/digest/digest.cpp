// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/weights/digest/digest.h>

#include <string.h>

namespace executorch::backends::xnnpack {
namespace {

// RFC 7693, section 2.6: the fractional parts of the square roots of the first eight primes.
constexpr uint64_t kInitial[8] = {0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B,
                                  0xA54FF53A5F1D36F1, 0x510E527FADE682D1, 0x9B05688C2B3E6C1F,
                                  0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179};

// RFC 7693, section 2.7: the order of the message's words in each round; rounds 10 and 11 repeat
// the first two.
constexpr uint8_t kOrder[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};
constexpr size_t kRounds = 12;

/// Marks the last block of a state.
enum class Block : uint8_t { Inner, Last };

/// RFC 7693, section 3.2. Word is uint64_t for one state, or a vector for several states with equal
/// byte counts.
template <typename Word>
__attribute__((always_inline)) inline void compress(Word* state, const Word* message,
                                                    uint64_t bytes, Block block) {
  Word v[16];
  for (size_t i = 0; i < 8; ++i) {
    v[i] = state[i];
    v[i + 8] = Word{} + kInitial[i];
  }
  v[12] ^= bytes;
  v[14] ^= block == Block::Last ? UINT64_MAX : 0;
  const auto mix = [&v](size_t a, size_t b, size_t c, size_t d, const Word& x, const Word& y)
                       __attribute__((always_inline)) {
                         v[a] += v[b] + x;
                         v[d] ^= v[a];
                         v[d] = (v[d] >> 32) | (v[d] << 32);
                         v[c] += v[d];
                         v[b] ^= v[c];
                         v[b] = (v[b] >> 24) | (v[b] << 40);
                         v[a] += v[b] + y;
                         v[d] ^= v[a];
                         v[d] = (v[d] >> 16) | (v[d] << 48);
                         v[c] += v[d];
                         v[b] ^= v[c];
                         v[b] = (v[b] >> 63) | (v[b] << 1);
                       };
#pragma GCC unroll 12
  for (size_t round = 0; round < kRounds; ++round) {
    const uint8_t* const order = kOrder[round % 10];
    mix(0, 4, 8, 12, message[order[0]], message[order[1]]);
    mix(1, 5, 9, 13, message[order[2]], message[order[3]]);
    mix(2, 6, 10, 14, message[order[4]], message[order[5]]);
    mix(3, 7, 11, 15, message[order[6]], message[order[7]]);
    mix(0, 5, 10, 15, message[order[8]], message[order[9]]);
    mix(1, 6, 11, 12, message[order[10]], message[order[11]]);
    mix(2, 7, 8, 13, message[order[12]], message[order[13]]);
    mix(3, 4, 9, 14, message[order[14]], message[order[15]]);
  }
  for (size_t i = 0; i < 8; ++i) {
    state[i] ^= v[i] ^ v[i + 8];
  }
}

constexpr size_t kStripe = 1024;

/// `stripes` blocks of each of the eight states: word w of state l is word 8 * w + l.
/// @param taken Bytes of a state before the first block.
__attribute__((always_inline)) inline void compress_stripes(uint64_t* lanes, const uint8_t* data,
                                                            size_t stripes, uint64_t taken,
                                                            Block block) {
  using Words = uint64_t __attribute__((vector_size(64)));
  Words state[8];
  memcpy(state, lanes, sizeof(state));
  for (size_t i = 0; i < stripes; ++i) {
    Words message[16];
    memcpy(message, data + i * kStripe, kStripe);
    compress(state, message, taken + (i + 1) * (kStripe / 8), block);
  }
  memcpy(lanes, state, sizeof(state));
}

using CompressStripes = void (*)(uint64_t*, const uint8_t*, size_t, uint64_t, Block);

void compress_plain(uint64_t* lanes, const uint8_t* data, size_t stripes, uint64_t taken,
                    Block block) {
  compress_stripes(lanes, data, stripes, taken, block);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) void compress_avx2(uint64_t* lanes, const uint8_t* data,
                                                   size_t stripes, uint64_t taken, Block block) {
  compress_stripes(lanes, data, stripes, taken, block);
}

__attribute__((target("avx512f"))) void compress_avx512(uint64_t* lanes, const uint8_t* data,
                                                        size_t stripes, uint64_t taken,
                                                        Block block) {
  compress_stripes(lanes, data, stripes, taken, block);
}
#endif

CompressStripes fastest() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) {
    return compress_avx512;
  }
  if (__builtin_cpu_supports("avx2")) {
    return compress_avx2;
  }
#endif
  return compress_plain;
}

void take_stripes(uint64_t* lanes, const uint8_t* data, size_t stripes, uint64_t taken,
                  Block block) {
  static const CompressStripes chosen = fastest();
  chosen(lanes, data, stripes, taken, block);
}

}  // namespace

Digester::Digester(const DigestKey& key) {
  memcpy(key_, key.data(), sizeof(key_));
  for (size_t w = 0; w < 8; ++w) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes_[kLanes * w + lane] = kInitial[w];
    }
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    // Parameters (section 2.5): 64 bytes of result; node `lane` of a tree of depth 2.
    lanes_[lane] ^= 64 | 8 << 16 | 2 << 24;
    lanes_[kLanes + lane] ^= lane;
  }
  uint8_t block[kStripe] = {};
  for (size_t w = 0; w < 4; ++w) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      memcpy(block + (w * kLanes + lane) * 8, &key_[w], 8);
    }
  }
  take_stripes(lanes_, block, 1, 0, Block::Inner);
}

void Digester::append(const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  const size_t waiting = taken_ % kStripe;
  // The last stripe waits for finish(), which may have to mark it.
  const bool is_full = waiting == 0 && taken_ > 0;
  const size_t room = is_full ? 0 : kStripe - waiting;
  if (size <= room) {
    if (size > 0) {
      memcpy(rest_ + waiting, bytes, size);
    }
    taken_ += size;
    return;
  }
  uint64_t before = (taken_ - waiting - (is_full ? kStripe : 0)) / kLanes + 128;
  if (is_full || waiting > 0) {
    memcpy(rest_ + (is_full ? kStripe : waiting), bytes, room);
    take_stripes(lanes_, rest_, 1, before, Block::Inner);
    before += kStripe / kLanes;
    bytes += room;
    size -= room;
    taken_ += room;
  }
  const size_t stripes = (size - 1) / kStripe;
  take_stripes(lanes_, bytes, stripes, before, Block::Inner);
  const size_t left = size - stripes * kStripe;
  memcpy(rest_, bytes + stripes * kStripe, left);
  taken_ += size;
}

void Digester::add(const void* data, size_t size) {
  const uint64_t length = size;
  append(&length, sizeof(length));
  append(data, size);
}

Digest Digester::finish() {
  const size_t waiting = taken_ == 0 ? 0 : (taken_ - 1) % kStripe + 1;
  memset(rest_ + waiting, 0, kStripe - waiting);
  take_stripes(lanes_, rest_, 1, (taken_ - waiting) / kLanes + 128, Block::Last);
  uint64_t root[8], block[16] = {};
  memcpy(root, kInitial, sizeof(root));
  root[0] ^= sizeof(Digest) | 8 << 16 | 2 << 24;
  root[2] ^= 1;  // depth 1 of the tree
  memcpy(block, key_, sizeof(key_));
  block[4] = taken_;
  compress(root, block, 128, Block::Inner);
  uint64_t bytes = 128;
  for (size_t half = 0; half < 4; ++half, bytes += 128) {
    memcpy(block, lanes_ + 16 * half, sizeof(block));
    compress(root, block, bytes + 128, half == 3 ? Block::Last : Block::Inner);
  }
  return {root[0], root[1]};
}

Digest digest_of(const void* data, size_t size, const DigestKey& key) {
  Digester digester(key);
  digester.add(data, size);
  return digester.finish();
}

}  // namespace executorch::backends::xnnpack
