// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Properties of the datatypes of a payload's values.
#pragma once

#include <stdint.h>

#include <executorch/backends/xnnpack/serialization/xnnpack_graph_generated.h>

namespace executorch::backends::xnnpack {

/// The bits of an element; 0 for a datatype of a later format.
uint8_t bits_of(fb_xnnpack::Datatype datatype);

/// True for float32, float16 and bfloat16.
bool is_float(fb_xnnpack::Datatype datatype);

/// True for quantized bytes with one scale for all.
bool is_byte(fb_xnnpack::Datatype datatype);

/// The kind of quantization parameters of values of this datatype, or NONE.
fb_xnnpack::XNNQuantParams parameters_of(fb_xnnpack::Datatype datatype);

/// True if results of this datatype can be clamped. XNNPACK aborts on a clamp of any other.
bool can_be_limited(fb_xnnpack::Datatype datatype);

/// True if a product with an operand of one datatype can have a bias of the other.
bool can_be_bias(fb_xnnpack::Datatype operand, fb_xnnpack::Datatype bias);

/// True for valid datatypes of a convolution, or of a product with weights.
bool is_convolution(fb_xnnpack::Datatype operand, fb_xnnpack::Datatype weights,
                    fb_xnnpack::Datatype result);
bool is_matrix_product(fb_xnnpack::Datatype operand, fb_xnnpack::Datatype weights,
                       fb_xnnpack::Datatype result);

}  // namespace executorch::backends::xnnpack
