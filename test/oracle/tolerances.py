# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tolerances of comparisons with eager PyTorch, by dtype and kind of computation.

A kernel, a fused operator and eager take sums in different orders, so float results differ in their last bits. A test
uses the strictest row that its computation allows: `torch.testing.assert_close(found, expected, **LAYER)`. A test with
another tolerance states the reason beside it.
"""

from __future__ import annotations

from typing import TypedDict

import torch


class Tolerance(TypedDict):
    """A value passes if its error is at most atol + rtol * |expected|."""

    rtol: float
    atol: float


# Programs and delegates in float32, with values of magnitude about 1.
FEW_ROUNDINGS = Tolerance(rtol=1e-5, atol=1e-6)  # elementwise functions, sums of some dozen terms
LAYER = Tolerance(rtol=1e-5, atol=1e-5)  # one layer, or a few: sums of some hundred terms
LAYERS = Tolerance(rtol=1e-4, atol=1e-5)  # a chain of layers whose roundings accumulate
MODEL = Tolerance(rtol=1e-4, atol=1e-4)  # a model, or sums of some thousand terms that may cancel

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
