# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tensors whose memory is a dim order, as programs hold them."""

from __future__ import annotations

import torch


def dim_order_of(tensor: torch.Tensor) -> list[int]:
    """Dimensions from outermost to innermost in memory. Raises ``ValueError`` for memory with gaps or overlaps."""
    order = sorted(range(tensor.dim()), key=lambda d: (-tensor.stride(d), d))
    if tensor.is_contiguous():
        return list(range(tensor.dim()))
    step = 1
    for d in reversed(order):
        if tensor.size(d) != 1 and tensor.stride(d) != step:
            raise ValueError(f"sizes {tuple(tensor.shape)} and strides {tensor.stride()} are not those of a dim order")
        step *= tensor.size(d)
    return order


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself where its memory is a dim order, else a contiguous copy; never conjugated or negated lazily."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    try:
        dim_order_of(tensor)
    except ValueError:
        return tensor.contiguous()
    return tensor
