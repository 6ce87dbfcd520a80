// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Random numbers for rand, randn, randint, randperm, bernoulli, native_dropout, multinomial and
// their variants.
//
// They come from a counter-based generator, Philox 4x32-10 (Salmon et al., Parallel Random Numbers:
// As Easy as 1, 2, 3, SC 2011), keyed by the seed. Each call of a random operator takes the next
// stream: block b of call c is the generator's value at the counter (b, c). So the numbers depend
// on the seed, on how many random operators ran since it was set, and on an element's index; not
// on memory layout, vector width or machine. Everything that follows from the raw bits is computed
// in double by additions, multiplications, divisions and square roots alone, which IEEE 754
// machines agree on.
//
// The process has one state; it starts with seed 0 and call 0. Threads may draw at the same time,
// in an unspecified order of streams. After 2^32 calls the streams repeat. The numbers differ from
// torch's and are unfit for cryptography.
#pragma once

#include <executorch/runtime/platform/compiler.h>

#include <stdint.h>

namespace executorch::kernels::portable {

/// Sets the seed and starts again with the first stream. Not to be called while another thread
/// draws: it may get a stream of either seed, or of a mixture of both.
void manual_seed(uint64_t seed);

}  // namespace executorch::kernels::portable

/// The same, for callers of a shared library in any language.
extern "C" ET_EXPORT void executorch_manual_seed(uint64_t seed);
