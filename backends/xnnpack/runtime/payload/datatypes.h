// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// What follows from the datatypes of a payload's values.
#pragma once

#include <stdint.h>

#include <executorch/backends/xnnpack/serialization/xnnpack_graph_generated.h>

namespace executorch::backends::xnnpack {

/// The bits of an element; 0 for a datatype that later formats have.
uint8_t bits_of(fb_xnnpack::Datatype datatype);

/// The parameters that values of this datatype are quantized with; NONE for those that are not.
fb_xnnpack::XNNQuantParams parameters_of(fb_xnnpack::Datatype datatype);

/// Whether results of this datatype can be clamped: XNNPACK takes others for impossible.
bool can_be_limited(fb_xnnpack::Datatype datatype);

/// Whether the datatypes of a convolution, or of a product with weights, go together.
bool is_convolution(fb_xnnpack::Datatype operand, fb_xnnpack::Datatype weights,
                    fb_xnnpack::Datatype result);
bool is_matrix_product(fb_xnnpack::Datatype operand, fb_xnnpack::Datatype weights,
                       fb_xnnpack::Datatype result);

}  // namespace executorch::backends::xnnpack
