// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Hash tables whose keys come from files: a secret of the process decides which keys share a
// bucket, so that no file can put all of its keys into one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace tokenizers::internal {

/// SipHash-1-3 of strings, and a mix of numbers, under a random key.
class KeyedHash {
 public:
  size_t operator()(std::string_view text) const {
    State state(secret());
    for (; text.size() >= sizeof(uint64_t); text.remove_prefix(sizeof(uint64_t))) {
      uint64_t word = 0;
      std::memcpy(&word, text.data(), sizeof(word));
      state.add(word);
    }
    uint64_t last = text.size();
    for (const char byte : text) last = last << 8 | uint8_t(byte);
    state.add(last);
    return state.finish();
  }
  size_t operator()(uint64_t number) const { return size_t(mixed(number ^ secret().first)); }
  size_t operator()(const std::pair<uint64_t, uint64_t>& numbers) const {
    return size_t(mixed(mixed(numbers.first ^ secret().first) ^ numbers.second));
  }

 private:
  using Secret = std::pair<uint64_t, uint64_t>;

  static const Secret& secret() {
    static const Secret value = [] {
      std::random_device random;
      const auto word = [&] { return uint64_t{random()} << 32 | random(); };
      return Secret{word(), word()};
    }();
    return value;
  }

  /// Each bit of x changes about half of the bits of the result. Without the secret, nobody can
  /// choose numbers whose results fall into one bucket.
  static uint64_t mixed(uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
  }

  class State {
   public:
    explicit State(const Secret& key)
        : v_{key.first ^ 0x736f6d6570736575u, key.second ^ 0x646f72616e646f6du,
             key.first ^ 0x6c7967656e657261u, key.second ^ 0x7465646279746573u} {}
    void add(uint64_t word) {
      v_[3] ^= word;
      round();
      v_[0] ^= word;
    }
    size_t finish() {
      v_[2] ^= 0xff;
      for (int i = 0; i < 3; ++i) round();
      return size_t(v_[0] ^ v_[1] ^ v_[2] ^ v_[3]);
    }

   private:
    static uint64_t rotate(uint64_t x, unsigned bits) { return x << bits | x >> (64 - bits); }
    void round() {
      v_[0] += v_[1];
      v_[2] += v_[3];
      v_[1] = rotate(v_[1], 13) ^ v_[0];
      v_[3] = rotate(v_[3], 16) ^ v_[2];
      v_[0] = rotate(v_[0], 32);
      v_[2] += v_[1];
      v_[0] += v_[3];
      v_[1] = rotate(v_[1], 17) ^ v_[2];
      v_[3] = rotate(v_[3], 21) ^ v_[0];
      v_[2] = rotate(v_[2], 32);
    }

    uint64_t v_[4];
  };
};

template <typename Key, typename Value>
using KeyedMap = std::unordered_map<Key, Value, KeyedHash>;
template <typename Key>
using KeyedSet = std::unordered_set<Key, KeyedHash>;

}  // namespace tokenizers::internal
