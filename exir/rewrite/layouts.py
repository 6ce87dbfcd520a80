# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Compare the layouts of fake tensors without adding guards: symbolic sizes and strides as text."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from executorch.exir.tensor import contiguous_stride_from_shape


def is_contiguous(value: object) -> bool:
    """Return whether a fake tensor is row-major, ignoring dimensions of size 1."""
    if not isinstance(value, torch.Tensor):
        return False
    expected = contiguous_stride_from_shape(list(value.shape))
    return all(
        (isinstance(size, int) and size == 1) or str(found) == str(wanted)
        for size, found, wanted in zip(value.shape, value.stride(), expected, strict=True)
    )


def same_layout(one: object, other: object) -> bool:
    """Return whether two values have equal dtypes, sizes, strides, conjugate and negative bits.

    Symbols are compared by their expressions.
    """
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return (
            one.dtype == other.dtype
            and one.dim() == other.dim()
            and _texts(one.shape) == _texts(other.shape)
            and _texts(one.stride()) == _texts(other.stride())
            and (one.is_conj(), one.is_neg()) == (other.is_conj(), other.is_neg())
        )
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(same_layout(a, b) for a, b in zip(one, other, strict=True))
    return not isinstance(one, torch.Tensor) and not isinstance(other, torch.Tensor)


def _texts(sizes: Sequence[object]) -> list[object]:
    return [size if isinstance(size, int) else str(size) for size in sizes]
