// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

extern "C" {
/// A point in time, in the platform's own ticks; see et_pal_ticks_to_ns_multiplier().
typedef uint64_t et_timestamp_t;
}
