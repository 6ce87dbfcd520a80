// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Error bounds of the C++ tests' comparisons, by kind of computation.
//
// A test takes the strictest row that its computation allows. No test has a bound of its own:
// test/house/test_tolerances.py refuses it. Bounds are absolute, for results of magnitude about 1,
// unless the comment names what they multiply.
#pragma once

namespace tolerance {

// Float32 arithmetic against double precision.
constexpr double kOneRounding = 1e-7;   // one operation, rounded once
constexpr double kConvolution = 3e-7;   // of the sum of the products' magnitudes
constexpr double kHugeInputs = 1e-6;    // the same with 1e20 among the inputs
constexpr double kElementwise = 1e-6;   // a function of each element
constexpr double kPerTerm = 1e-6;       // of the number of terms in a sum
constexpr double kErf = 4e-7;           // of the result
constexpr double kLogNearOne = 2e-7;    // the logarithm of numbers near 1 is near 0
constexpr double kGates = 2e-6;         // sums of products of sigmoids and tanh
constexpr double kPixels = 2e-6;        // normalized colours of an image
constexpr double kGelu = 3e-6;          // of the result
constexpr double kGeluNearZero = 2e-6;  // where the factor cancels
constexpr double kActivation = 4e-6;    // an activation or softmax after a product
constexpr double kLayer = 1e-5;         // sums of some hundred terms, their means and norms
constexpr double kAttention = 3e-5;     // two products and the softmax between them
constexpr double kNormalized = 1e-4;    // differences from a mean, divided by a small deviation
constexpr double kLargeSums = 2e-4;     // sums of some thousand terms, which may cancel
constexpr double kFourDigits = 1e-4;    // an expected number written with four digits
constexpr double kAtenRelative = 1e-4;  // of ATen's result; kLayer is its absolute part
constexpr double kSubnormal = 1e-37;    // results below the normal numbers may become zero

// Numbers of fewer bits.
constexpr double kRoundedToInteger = 0.501;  // half a quantum, and the rounding of its scale
constexpr double kOutputQuantum = 5.8e-3;    // of the model quantized.pte
constexpr double kInt8Rows = 1e-3;           // 8-bit rows and weights, scales computed at run time
constexpr double kRowScales = 1e-4;          // scales of rows, computed in float32
constexpr double kHalf = 1e-3;               // one operation in float16
constexpr double kBFloat16Attention = 0.2;   // products of bfloat16

// Frequencies of some thousand random draws.
constexpr double kFrequency = 0.03;
constexpr double kSmallFrequency = 0.02;  // of an event whose probability is some hundredths

}  // namespace tolerance
