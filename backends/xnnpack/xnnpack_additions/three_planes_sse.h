// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Three planes of numbers of 32 bits become one of points of three: how an image of colours that
// has PyTorch's order begins its way through a net with channels last. XNNPACK's own transposition
// moves squares of 8 x 8 numbers, of which 3 x 8 are there, and takes six times as long.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// The signature of XNNPACK's microkernel, strides in bytes; what is not such planes is left to
/// that.
void executorch_x32_transpose(const uint32_t* input, uint32_t* output, size_t input_stride,
                              size_t output_stride, size_t width, size_t height);
