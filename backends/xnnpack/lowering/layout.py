# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Images in XNNPACK have their channels last: how dimensions, sizes and tensors of one order look in the other."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TypeVar

import torch

_T = TypeVar("_T")


class Layout(Enum):
    """The order of a value's dimensions in memory, as XNNPACK sees it."""

    PLAIN = "as in the program"
    CHANNELS_LAST = "images: batch, height, width, channels"


TO_CHANNELS_LAST = (0, 2, 3, 1)
TO_PLAIN = (0, 3, 1, 2)


def order_of(layout: Layout, rank: int) -> tuple[int, ...]:
    """Which of the program's dimensions each of XNNPACK's is."""
    return TO_CHANNELS_LAST if layout is Layout.CHANNELS_LAST else tuple(range(rank))


def arranged(values: Sequence[_T], layout: Layout) -> list[_T]:
    """One value for each of the program's dimensions (sizes, say), in XNNPACK's order."""
    return [values[dim] for dim in order_of(layout, len(values))]


def place_of(dim: int, layout: Layout, rank: int) -> int:
    """Where the program's dimension `dim`, which may count from the end, is in XNNPACK's order."""
    return order_of(layout, rank).index(dim % rank)


def is_channels_last(tensor: torch.Tensor) -> bool:
    """Whether the memory of an image holds its channels last, and cannot be taken for plain."""
    return tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last) and not tensor.is_contiguous()
