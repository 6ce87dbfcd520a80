# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tolerances of comparisons with eager PyTorch, by dtype and kind of computation.

A kernel, a fused operator and eager take sums in different orders, so float results differ in their last bits. A test
uses the strictest row that its computation allows: `torch.testing.assert_close(found, expected, **LAYER)`. No test has
a tolerance of its own: test/house/test_tolerances.py refuses it.
"""

from __future__ import annotations

from typing import TypedDict

import torch


class Tolerance(TypedDict):
    """A value passes if its error is at most atol + rtol * |expected|."""

    rtol: float
    atol: float


def absolute(tolerance: Tolerance) -> Tolerance:
    """Return the tolerance without its relative part, for values of magnitude about 1."""
    return Tolerance(rtol=0, atol=tolerance["atol"])


def relative(tolerance: Tolerance) -> Tolerance:
    """Return the tolerance without its absolute part, for results whose zeros are exact."""
    return Tolerance(rtol=tolerance["rtol"], atol=0)


def scaled(tolerance: Tolerance, magnitude: float) -> Tolerance:
    """Return the tolerance for values of that magnitude."""
    return Tolerance(rtol=tolerance["rtol"], atol=tolerance["atol"] * magnitude)


def quanta(quantum: float, count: int = 1) -> Tolerance:
    """Allow `count` steps of a quantization: rounding errors decide to which side a value in the middle goes."""
    return Tolerance(rtol=0, atol=1.001 * count * quantum)


def of_largest(expected: torch.Tensor, share: float) -> Tolerance:
    """Allow a share of the largest magnitude, for results of quantized computation."""
    return Tolerance(rtol=0, atol=share * float(expected.abs().max()))


def two_roundings(dtype: torch.dtype) -> Tolerance:
    """Allow two roundings to a 16-bit float."""
    return Tolerance(rtol=2 * torch.finfo(dtype).eps, atol=1e-3)


# Programs and delegates in float32, with values of magnitude about 1.
EXACT = Tolerance(rtol=0, atol=0)  # the same bits
ONE_ROUNDING = Tolerance(rtol=1e-6, atol=1e-6)  # an operation whose result is rounded once
ELEMENTWISE = Tolerance(rtol=2e-6, atol=2e-6)  # a function of each element by another approximation than eager's
FEW_ROUNDINGS = Tolerance(rtol=1e-5, atol=1e-6)  # elementwise functions, sums of some dozen terms
LAYER = Tolerance(rtol=1e-5, atol=1e-5)  # one layer, or a few: sums of some hundred terms
BETWEEN_PRODUCTS = Tolerance(rtol=2e-5, atol=2e-5)  # norms and softmax between two products
LAYERS = Tolerance(rtol=1e-4, atol=1e-5)  # a chain of layers whose roundings accumulate
MODEL = Tolerance(rtol=1e-4, atol=1e-4)  # a model, or sums of some thousand terms that may cancel
ATTENTION = Tolerance(rtol=0, atol=2e-6)  # against attention in float64
CACHED_ATTENTION = Tolerance(rtol=0, atol=3e-6)  # the same over a cache in 8 or 16 bits
MASKED_ATTENTION = {  # the same with a mask, in the dtype of the result
    torch.float32: Tolerance(rtol=0, atol=3e-6),
    torch.float16: Tolerance(rtol=0, atol=2e-3),
    torch.bfloat16: Tolerance(rtol=0, atol=1.6e-2),
}
CANCELLING = Tolerance(rtol=1e-3, atol=1e-3)  # differences of numbers a thousand times as large

# One function of each element in float32 and float64, compared with the function in a wider type.
LAST_BIT = Tolerance(rtol=1.2e-7, atol=2e-45)  # the nearest number or its neighbor, subnormal ones too
SUBNORMAL_RESULTS = Tolerance(rtol=1e-6, atol=2e-45)
LOG_GAMMA = Tolerance(rtol=6e-7, atol=2e-6)
POLYGAMMA = Tolerance(rtol=1e-8, atol=0)
FFT = {torch.float32: 2e-6, torch.complex64: 2e-6, torch.float64: 1e-14, torch.complex128: 1e-14}  # of the largest
DECOMPOSITIONS = {  # of matrices, by elimination or iteration
    torch.float32: Tolerance(rtol=2e-4, atol=2e-4),
    torch.complex64: Tolerance(rtol=2e-4, atol=2e-4),
    torch.float64: Tolerance(rtol=1e-9, atol=1e-9),
    torch.complex128: Tolerance(rtol=1e-9, atol=1e-9),
}

# 16-bit floats, with float32 where a test has all dtypes. Eager rounds at other places.
ROUNDED_ONCE = {  # a layer whose sums are rounded once
    torch.float32: LAYER,
    torch.float16: Tolerance(rtol=3e-3, atol=3e-3),
    torch.bfloat16: Tolerance(rtol=1e-2, atol=1e-2),
}
NEAREST_HALF = Tolerance(rtol=2**-11, atol=1e-5)  # half the distance of two neighbors in float16
ONE_OPERATOR = {  # any operator of a delegate
    torch.float16: Tolerance(rtol=1e-2, atol=1e-2),
    torch.bfloat16: Tolerance(rtol=8e-2, atol=8e-2),
}
SEVERAL_OPERATORS = {  # operators that the delegate computes as one
    torch.float16: Tolerance(rtol=2e-2, atol=2e-2),
    torch.bfloat16: Tolerance(rtol=0.15, atol=0.15),
}
ONE_ROUNDED_FUNCTION = Tolerance(rtol=1e-2, atol=1e-6)  # functions whose zeros and subnormal numbers stay
EXPONENTIALS = {  # elementary functions at all magnitudes
    torch.float32: Tolerance(rtol=1e-5, atol=1e-7),
    torch.float16: Tolerance(rtol=2e-3, atol=1e-4),
}
MIXED_PRECISION = Tolerance(rtol=2e-3, atol=1e-4)  # float32 between which some values are float16
SEVEN_CONVOLUTIONS = {
    torch.float32: Tolerance(rtol=1e-3, atol=1e-4),
    torch.float16: Tolerance(rtol=1e-3, atol=2e-3),
}
LONG_ROWS = {  # softmax and elementwise functions of some hundred thousand values
    torch.float32: MODEL,
    torch.float16: Tolerance(rtol=2e-2, atol=2e-2),
    torch.bfloat16: Tolerance(rtol=2e-2, atol=2e-2),
}
BFLOAT16_SUMS = 0.02  # absolute, magnitudes of up to 1
LARGE_BFLOAT16_SUMS = 0.1  # absolute, magnitudes of up to 16
BFLOAT16_OUTPUTS = 0.02  # the largest error as a share of the largest magnitude, after such products
BFLOAT16_PRODUCTS = 1e-2  # relative error of products that are computed in bfloat16: 40 dB

# Quantized computation; shares of the largest magnitude unless they are a Tolerance. See also quanta().
INT8_MODEL = 0.05  # 8-bit activations, 4- or 8-bit weights
INT8_WEIGHTS = 0.02  # only the weights are in 8 bits
INT4_LOGITS = 0.2  # 4-bit weights and embeddings
INT4_OUTPUTS = 0.3  # 4-bit weights of a small layer
INT8_CACHE = 0.03
INT8_INPUTS = Tolerance(rtol=0.05, atol=0.031)  # a float function of a value that may differ by one quantum
INTEGER_PRODUCTS = Tolerance(rtol=1e-4, atol=1e-2)  # sums of integers are exact; the scales of rows are computed
FOLDED_BIAS = Tolerance(rtol=0, atol=0.01)  # a bias as an integer
MIXED_PRODUCTS = {
    torch.float32: Tolerance(rtol=1e-4, atol=1e-3),
    torch.float16: Tolerance(rtol=1e-2, atol=1e-3),
    torch.bfloat16: Tolerance(rtol=1e-2, atol=1e-3),
}
TIES = 0.02  # the share of values that lie in the middle of two integers, so that rounding errors choose the integer
TIES_OF_MEANS = 0.2  # means of integers lie in the middle often

# Comparisons with another measure.
DROPPED_MEANS = Tolerance(rtol=0, atol=0.4)  # means of 400 random results
PIXEL_VALUES = 2e-4  # magnitudes of up to 255
PIXELS = 0.2  # of a drawing, whose coordinates are rounded
TIMES = 0.05  # parts of a measured time against the whole
SUPPORTED = Tolerance(rtol=1e-3, atol=1e-4)  # a kernel that computes a dtype at all; its accuracy has tests of its own

# test.coverage: shares of the largest magnitude of an output.
COVERED = 1e-3
COVERED_HALF = 1e-2
COVERED_BFLOAT16 = 5e-2
COVERED_INT8 = 5e-2

# (rtol, atol) of one call of a kernel by dtype of the result; exact for other dtypes. A kernel rounds 16-bit results
# once, eager step by step.
KERNEL: dict[torch.dtype, tuple[float, float]] = {
    torch.float16: (4e-3, 4e-3),
    torch.bfloat16: (3.2e-2, 3.2e-2),
    torch.float32: (1e-5, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex32: (4e-3, 4e-3),
    torch.complex64: (1e-5, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
# The same for sums of up to some thousand terms of magnitude about 1. Kernels round sums of 16-bit floats once; eager
# rounds them at places that depend on torch's version.
LONG_SUMS: dict[torch.dtype, tuple[float, float]] = {
    torch.float16: (5e-3, 5e-3),
    torch.bfloat16: (3e-2, 3e-2),
    torch.float32: (1e-4, 1e-4),
    torch.float64: (1e-9, 1e-9),
}

# (rtol, atol) of kernels that need more than KERNEL, for the reason in each comment.
SPECIAL_KERNELS = {
    # Sums of 100 products of up to 80 each, which may cancel.
    ("aten::convolution", torch.float32): (1e-5, 2e-4),
    ("aten::convolution_backward", torch.float32): (1e-5, 2e-4),
    # Sums of elements of up to 10 each, which may cancel: the rounding error is relative to their magnitudes.
    **{
        (f"aten::_fft_{kind}", dtype): (1e-5, 1e-4)
        for kind in ("c2r", "r2c", "c2c")
        for dtype in (torch.float32, torch.complex64)
    },
    # PyTorch's approximations have 7 correct digits in float64, ours 15.
    **{(f"aten::special_bessel_{kind}", torch.float64): (2e-5, 2e-6) for kind in ("j0", "j1", "y0", "y1")},
    ("aten::special_airy_ai", torch.float64): (2e-6, 2e-6),
}
