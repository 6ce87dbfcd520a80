# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Conversions between dim orders and PyTorch's memory formats."""

from __future__ import annotations

from collections.abc import Sequence

import torch

_CHANNELS_LAST = {4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]}


def get_dim_order(memory_format: torch.memory_format | None, ndim: int) -> list[int] | None:
    """Return the dim order of a memory format for `ndim` dimensions; None for preserve_format (the input's).

    Raises ValueError for a memory format that tensors of this rank cannot have.
    """
    if memory_format in (None, torch.preserve_format):
        return None
    if memory_format is torch.contiguous_format:
        return list(range(ndim))
    wanted = {torch.channels_last: 4, torch.channels_last_3d: 5}.get(memory_format)
    if wanted != ndim:
        raise ValueError(f"{memory_format} needs {wanted} dimensions, found {ndim}")
    return list(_CHANNELS_LAST[ndim])


def get_memory_format(dim_order: Sequence[int] | None) -> torch.memory_format:
    """Return the memory format of a dim order. Raises ValueError if PyTorch lacks one."""
    if dim_order is None:
        return torch.preserve_format
    if list(dim_order) == list(range(len(dim_order))):
        return torch.contiguous_format
    if list(dim_order) == _CHANNELS_LAST.get(len(dim_order)):
        return torch.channels_last if len(dim_order) == 4 else torch.channels_last_3d
    raise ValueError(f"dim order {list(dim_order)} is neither contiguous nor channels last")


def is_contiguous_dim_order(tensor: torch.Tensor) -> bool:
    """Return whether the dim order of a tensor is 0, 1, 2, …"""
    return list(tensor.dim_order()) == list(range(tensor.dim()))


def is_channel_last_dim_order(tensor: torch.Tensor) -> bool:
    """Return whether the dim order of a tensor is N, H, W, C (or N, D, H, W, C)."""
    return list(tensor.dim_order()) == _CHANNELS_LAST.get(tensor.dim())
