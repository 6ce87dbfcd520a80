// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Elementary functions for XNNPACK, which is built with them (cmake/xnnpack_changes.py), by the
// formulas of our own kernels (kernels/loops/float_math.h). Some of its own are for one number at a
// time (exp; sine, cosine and sign; exp, log and gelu in 16 bits). On x86 others are wrong where
// numbers are large, or are none: sqrt(inf) and rsqrt(0) were NaN, sqrt(3e38) half as much again,
// log(3e38) infinity, sigmoid(1e30) NaN; in 16 bits sqrt(-88) was -0.
#pragma once

#include "xnnpack.h"
#include "xnnpack/config-types.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What computes `op` on elements of a datatype, or NULL where XNNPACK's own is to.
const struct xnn_unary_elementwise_config* executorch_elementary(enum xnn_unary_operator op,
                                                                 enum xnn_datatype datatype);

#ifdef __cplusplus
}
#endif
