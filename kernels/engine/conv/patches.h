// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolutions of float32 images in NCHW (those of conv.h, not transposed) as products of the
// weights where they lie and of patches of the image:
//
//   out[n, g * O + o, q] = bias[g * O + o] + sum over i and taps of
//       weight[g * O + o, i, tap] * patch[(i, tap), q]
//
// Packs only the patches, row by row from padded planes (planes/padded_plane.h): for weights that
// are used once, such as those of a kernel without state, which take longer to pack than to
// multiply. All tensors are contiguous; `out` must not overlap an input. NaN and infinities
// follow IEEE arithmetic; padding is a product with zero.
#pragma once

#include <cstddef>

#include <executorch/kernels/engine/conv/conv.h>

namespace executorch::kernels::engine {

size_t patches_scratch_bytes(const Conv2dParams& params, ImageSize input, size_t threads,
                             InstructionSet set = instruction_set());
/// The scratch memory of `call` has patches_scratch_bytes().
void convolve_patches(const Conv2dParams& params, const NchwCall& call, Threads& threads,
                      InstructionSet set = instruction_set());

}  // namespace executorch::kernels::engine
