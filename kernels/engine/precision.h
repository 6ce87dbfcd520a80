// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <cstdint>

namespace executorch::kernels::engine {

/// The precision that factors of a product may be rounded to (nearest even) before they are
/// multiplied. Sums, biases, residuals and results are float32 throughout. It is a permission:
/// where the instruction set does not multiply such factors faster, a product multiplies float32.
enum class Precision : uint8_t { Float32, BFloat16 };

}  // namespace executorch::kernels::engine
