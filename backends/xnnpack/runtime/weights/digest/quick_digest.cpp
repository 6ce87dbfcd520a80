// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/weights/digest/quick_digest.h>

#include <string.h>

#include <executorch/backends/xnnpack/runtime/weights/digest/digest_key.h>

namespace executorch::backends::xnnpack {
namespace {

// Distance in bytes at which memory is prefetched.
constexpr size_t kAhead = 4096;

/// Random numbers of this process, so that nobody can construct a program whose constants collide
/// with another's.
struct Secret {
  uint64_t first;
  uint64_t second;
  uint64_t lanes[4];
};

const Secret& secret() {
  static const Secret of_process = [] {
    Secret random;
    fill_with_random(&random, sizeof(random));
    random.first |= 1;
    random.second |= 1;
    return random;
  }();
  return of_process;
}

uint64_t rotate(uint64_t value, int count) { return value << count | value >> (64 - count); }

/// All bits of the product of two words, folded to one.
uint64_t folded_product(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#else
  const uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX), high = (a >> 32) * (b >> 32);
  const uint64_t one = (a >> 32) * (b & UINT32_MAX), other = (a & UINT32_MAX) * (b >> 32);
  const uint64_t middle = (low >> 32) + (one & UINT32_MAX) + (other & UINT32_MAX);
  return ((low & UINT32_MAX) | middle << 32) ^
         (high + (one >> 32) + (other >> 32) + (middle >> 32));
#endif
}

}  // namespace

Digest quick_digest_of(const void* data, size_t size) {
  const Secret& key = secret();
  // A product with a secret factor. The rotation keeps the lane's earlier state, even for a product
  // of 0.
  const auto mix = [&key](uint64_t lane, uint64_t first, uint64_t second) {
    return rotate(lane, 23) + folded_product(first ^ key.first, second ^ lane ^ key.second);
  };
  const auto* bytes = static_cast<const uint8_t*>(data);
  // Four lanes, so that no product waits for the one before it.
  uint64_t lanes[4] = {key.lanes[0] ^ size, key.lanes[1], key.lanes[2], key.lanes[3]};
  constexpr size_t kStep = 64;
  const auto take = [&](const uint8_t* from) {
    uint64_t words[8];
    memcpy(words, from, kStep);
    for (size_t lane = 0; lane < 4; ++lane) {
      lanes[lane] = mix(lanes[lane], words[2 * lane], words[2 * lane + 1]);
    }
  };
  size_t left = size;
  for (; left >= kStep; left -= kStep, bytes += kStep) {
    __builtin_prefetch(bytes + kAhead);
    take(bytes);
  }
  if (left > 0) {
    uint8_t rest[kStep] = {};
    memcpy(rest, bytes, left);
    take(rest);
  }
  uint64_t low = lanes[0], high = lanes[3];
  for (const uint64_t lane : lanes) {
    low = mix(low, lane, high);
    high = mix(high, lane, low);
  }
  return {low, high};
}

}  // namespace executorch::backends::xnnpack
