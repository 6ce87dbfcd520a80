// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/digest.h>

#include <string.h>

namespace executorch::backends::xnnpack {
namespace {

// Odd numbers with bits all over: digits of pi and e.
constexpr uint64_t kFirst = 0x452821E638D01377;
constexpr uint64_t kSecond = 0xB7E151628AED2A6B;

uint64_t rotate(uint64_t value, int count) { return value << count | value >> (64 - count); }

uint64_t mix(uint64_t lane, uint64_t word) { return rotate((lane ^ word) * kFirst, 29) * kSecond; }

uint64_t spread(uint64_t value) {
  value = (value ^ value >> 32) * kFirst;
  value = (value ^ value >> 29) * kSecond;
  return value ^ value >> 32;
}

}  // namespace

void Digester::add(const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  // Four words at once, none of which waits for another.
  uint64_t a = mix(lanes_[0], size), b = lanes_[1], c = lanes_[2], d = lanes_[3];
  uint64_t words[4];
  size_t left = size;
  for (; left >= sizeof(words); left -= sizeof(words), bytes += sizeof(words)) {
    memcpy(words, bytes, sizeof(words));
    a = mix(a, words[0]);
    b = mix(b, words[1]);
    c = mix(c, words[2]);
    d = mix(d, words[3]);
  }
  memset(words, 0, sizeof(words));
  if (left > 0) {
    memcpy(words, bytes, left);
  }
  // What a lane has taken reaches all, so that the order of pieces counts.
  lanes_[0] = mix(a, words[0] ^ rotate(d, 17));
  lanes_[1] = mix(b, words[1] ^ rotate(lanes_[0], 17));
  lanes_[2] = mix(c, words[2] ^ rotate(lanes_[1], 17));
  lanes_[3] = mix(d, words[3] ^ rotate(lanes_[2], 17));
}

Digest Digester::finish() const {
  return {spread(lanes_[0] + rotate(lanes_[1], 31) + rotate(lanes_[2], 13) + rotate(lanes_[3], 47)),
          spread(lanes_[1] ^ rotate(lanes_[0], 23) ^ rotate(lanes_[3], 41) ^ rotate(lanes_[2], 7))};
}

Digest digest_of(const void* data, size_t size) {
  Digester digester;
  digester.add(data, size);
  return digester.finish();
}

}  // namespace executorch::backends::xnnpack
