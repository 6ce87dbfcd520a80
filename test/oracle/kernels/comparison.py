# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Compare one kernel's results with eager, within oracle/tolerances.py; recorded calls contain the tolerance."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from oracle.tolerances import KERNEL, SPECIAL_KERNELS

from executorch.exir.dialects import dim_order_ops  # noqa: F401  (defines torch.ops.dim_order_ops)


def tolerance_of(kernel: str, dtype: torch.dtype) -> tuple[float, float]:
    """Return (rtol, atol) of a kernel's result; zeros for integers and bool."""
    return SPECIAL_KERNELS.get((kernel.partition(".")[0], dtype), KERNEL.get(dtype, (0.0, 0.0)))


@functools.cache
def is_determined(kernel: str) -> bool:
    """Return False if the arguments do not determine the values: uninitialized memory and random numbers."""
    namespace, _, name = kernel.partition("::")
    operator, _, overload = name.partition(".")
    if operator in ("empty", "empty_like", "empty_strided", "empty_permuted", "_empty_dim_order"):
        return False
    packet = getattr(getattr(torch.ops, namespace), operator)
    return torch.Tag.nondeterministic_seeded not in getattr(packet, overload or "default").tags


def mismatch(kernel: str, found: Any, expected: Any) -> str:
    """Return the difference as text; empty if sizes, dtypes and values agree. NaN equals NaN."""
    if isinstance(expected, torch.Tensor):
        rtol, atol = tolerance_of(kernel, expected.dtype)
        try:
            torch.testing.assert_close(found, expected, rtol=rtol, atol=atol, equal_nan=True, check_stride=False)
        except AssertionError as error:
            return str(error).replace("\n", " ")
        return ""
    pairs: Sequence[tuple[Any, Any]] = list(zip(found, expected, strict=True))
    return " ".join(filter(None, (mismatch(kernel, f, e) for f, e in pairs)))
