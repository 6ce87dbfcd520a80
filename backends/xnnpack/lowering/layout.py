# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Dimension orders of values. XNNPACK's dimension i is the program's dimension `order[i]`.

XNNPACK's images are channels-last. A permuted tensor is the same value in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import torch

from executorch.exir.passes.memory.spec_prop_pass import make_spec

_T = TypeVar("_T")

Order = tuple[int, ...]

CHANNELS_LAST: Order = (0, 2, 3, 1)
"""Order of images: batch, height, width, channels."""


def plain(rank: int) -> Order:
    """The order of the program."""
    return tuple(range(rank))


def arranged(values: Sequence[_T], order: Order) -> list[_T]:
    """Values of the program's dimensions, such as sizes, rearranged to XNNPACK's order."""
    return [values[dim] for dim in order]


def place_of(dim: int, order: Order) -> int:
    """Position in XNNPACK's order of the program's dimension `dim`, which may be negative."""
    return order.index(dim % len(order))


def moved_last(dims: Sequence[int], rank: int) -> Order:
    """The program's order with `dims` moved to the end."""
    last = [dim % rank for dim in dims]
    return (*(dim for dim in range(rank) if dim not in last), *last)


def seen_through(order: Order, permutation: Order) -> Order:
    """Translate an order of a permuted tensor to an order of the tensor that it permutes."""
    return tuple(permutation[dim] for dim in order)


def inverse(permutation: Order) -> Order:
    """The inverse permutation."""
    return tuple(permutation.index(dim) for dim in range(len(permutation)))


def order_in_memory(tensor: torch.Tensor) -> Order:
    """The dim order that the program declares for a tensor."""
    spec = make_spec(tensor)
    assert spec is not None, "a tensor has a spec"
    return spec.dim_order
