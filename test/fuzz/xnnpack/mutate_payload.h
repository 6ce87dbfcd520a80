// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fuzz/engine/random.h"

namespace executorch::fuzz {

/// Changes numbers in the graph of an XNNPACK payload: most get the number that the same field has
/// elsewhere, so that values, arguments and constants become the same ones; others any. A payload
/// that cannot be read is left as it is.
void mutate_payload(uint8_t* payload, size_t size, Random& random);

}  // namespace executorch::fuzz
