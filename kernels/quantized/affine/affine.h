// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Affine quantization, integer = number / scale + zero point, with parameters for a tensor, a
// channel, a row or a group: these differ in the strides of the parameters only.
//
// Results have the bits of torch's reference (torch/ao/quantization/fx/_decomposed.py): every step
// is rounded to the dtype that the reference computes it in.
#pragma once

#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/loops/memory/strided.h>

namespace executorch::kernels::quantized {

/// Parameters of a channel, row or group. For quantizing, numbers are multiplied by `scale`.
struct Parameters {
  double scale;
  double zero_point;
  int64_t integer_zero;
};

/// Memory of `Parameters`, of a tensor's sizes, with stride 0 where they do not change.
struct ParameterPlaces {
  Strided places;
  ScalarType scales;  // the dtype that they come in
  ScalarType zeros;

  bool has_integer_zeros() const { return !is_floating(zeros); }
};

/// Order of adding zero points: before rounding (rows, groups) or after it (tensors, channels).
enum class Added : uint8_t { AfterRounding, BeforeRounding };

/// Writes integers for numbers. The dtypes and sizes are checked.
void quantize(const Strided& out, const Strided& numbers, const ParameterPlaces& parameters,
              Added added, int64_t quant_min, int64_t quant_max);
/// Writes numbers for integers. `computed`: the dtype of the result, before it is converted to
/// out's.
void dequantize(const Strided& out, const Strided& integers, const ParameterPlaces& parameters,
                ScalarType computed);

/// Rounds to a floating dtype, as computing in it does.
double rounded_to(ScalarType dtype, double value);

/// The integers of a dtype that quantized tensors may have; false for another dtype.
bool integer_limits(ScalarType dtype, int64_t* lowest, int64_t* highest);

}  // namespace executorch::kernels::quantized
