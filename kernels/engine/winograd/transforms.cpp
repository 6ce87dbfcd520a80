// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <cmath>
#include <cstring>

#include <executorch/kernels/engine/winograd/work.h>

#define ET_SIMD_SOURCE <executorch/kernels/engine/winograd/transforms.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {

const WinogradTransforms& winograd_transforms(InstructionSet set) {
  return *ET_SIMD_FUNCTION(set, kTransforms);
}

}  // namespace executorch::kernels::engine
