// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/signature/sha256.h>
#include <string.h>

#include <algorithm>

namespace executorch::extension::signature {
namespace {

constexpr size_t kBlock = 64;

constexpr uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr uint32_t rotate_right(uint32_t word, int bits) {
  return word >> bits | word << (32 - bits);
}

uint32_t read_big_endian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 |
         uint32_t{bytes[3]};
}

}  // namespace

void Sha256Hasher::add_block(const uint8_t* block) {
  uint32_t schedule[64];
  for (size_t i = 0; i < 16; ++i) {
    schedule[i] = read_big_endian(block + 4 * i);
  }
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t x = schedule[i - 15], y = schedule[i - 2];
    schedule[i] = schedule[i - 16] + schedule[i - 7] +
                  (rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3) +
                  (rotate_right(y, 17) ^ rotate_right(y, 19) ^ y >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t sum1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
    const uint32_t first = h + sum1 + ((e & f) ^ (~e & g)) + kRoundConstants[i] + schedule[i];
    const uint32_t sum0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
    const uint32_t second = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const std::array<uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < added.size(); ++i) {
    state_[i] += added[i];
  }
}

void Sha256Hasher::add(const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  while (size > 0) {
    const size_t filled = length_ % kBlock;
    if (filled == 0 && size >= kBlock) {
      add_block(bytes);
      length_ += kBlock;
      bytes += kBlock;
      size -= kBlock;
      continue;
    }
    const size_t count = std::min(size, kBlock - filled);
    memcpy(partial_.data() + filled, bytes, count);
    length_ += count;
    bytes += count;
    size -= count;
    if (length_ % kBlock == 0) {
      add_block(partial_.data());
    }
  }
}

Sha256 Sha256Hasher::finish() {
  const uint64_t bits = length_ * 8;
  constexpr uint8_t kEnd = 0x80, kZero = 0;
  add(&kEnd, 1);
  while (length_ % kBlock != kBlock - sizeof(bits)) {
    add(&kZero, 1);
  }
  uint8_t big_endian[sizeof(bits)];
  for (size_t i = 0; i < sizeof(bits); ++i) {
    big_endian[i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  }
  add(big_endian, sizeof(big_endian));
  Sha256 digest;
  for (size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

std::string to_hex(const Sha256& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace executorch::extension::signature
