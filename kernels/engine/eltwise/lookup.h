// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Functions of one byte by a table of all results: out[i] = table[in[i]]. `out` may be `in`, else
// they must not overlap.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

/// A table in the form that the kernels read.
class LookupTable final {
 public:
  static constexpr size_t kSize = 256;

  LookupTable() = default;
  /// @param results The result of each byte.
  explicit LookupTable(const uint8_t* results);

  void run(const uint8_t* in, uint8_t* out, size_t count, Threads& threads,
           InstructionSet set = instruction_set()) const;

 private:
  uint8_t results_[kSize] = {};
  /// steps_[16 k + l] is what step k combines by exclusive or into the result of a byte with the
  /// low half l. The steps in which a byte takes part (lookup.cpp) combine to its result.
  uint8_t steps_[kSize] = {};
};

}  // namespace executorch::kernels::engine
