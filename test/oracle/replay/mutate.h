// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <cstdint>

#include "replay/recorded_call.h"

namespace oracle {

/// splitmix64 (Steele, Lea, Flood 2014): the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  /// Evenly from 0 to `bound` - 1; `bound` must not be 0.
  size_t below(size_t bound) { return static_cast<size_t>(next() % bound); }

 private:
  uint64_t state_;
};

/// Changes one to three things: numbers to wild ones, None for a value, lists' lengths, strings,
/// and of tensors the dtype, sizes, rank, dim order and elements. Each tensor's memory fits it
/// afterwards.
void mutate(Call& call, Random& random);

/// Replaces a size by 0 wherever a tensor has it. In tensors that then are empty, replaces another
/// size by a huge one.
void empty_tensors(Call& call, Random& random);

}  // namespace oracle
