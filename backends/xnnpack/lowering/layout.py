# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The order of a value's dimensions in memory: which of the program's dimensions each of XNNPACK's is.

Images in XNNPACK have their channels last; a permuted tensor is the same value in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import torch

from executorch.exir.passes.memory.spec_prop_pass import make_spec

_T = TypeVar("_T")

Order = tuple[int, ...]

CHANNELS_LAST: Order = (0, 2, 3, 1)
"""Images: batch, height, width, channels."""


def plain(rank: int) -> Order:
    """The order of the program."""
    return tuple(range(rank))


def arranged(values: Sequence[_T], order: Order) -> list[_T]:
    """One value for each of the program's dimensions (sizes, say), in XNNPACK's order."""
    return [values[dim] for dim in order]


def place_of(dim: int, order: Order) -> int:
    """Where the program's dimension `dim`, which may count from the end, is in XNNPACK's order."""
    return order.index(dim % len(order))


def moved_last(dims: Sequence[int], rank: int) -> Order:
    """The program's order with `dims` at its end."""
    last = [dim % rank for dim in dims]
    return (*(dim for dim in range(rank) if dim not in last), *last)


def seen_through(order: Order, permutation: Order) -> Order:
    """An order of a permuted tensor as one of the tensor that it permutes."""
    return tuple(permutation[dim] for dim in order)


def inverse(permutation: Order) -> Order:
    """The permutation that undoes this one."""
    return tuple(permutation.index(dim) for dim in range(len(permutation)))


def order_in_memory(tensor: torch.Tensor) -> Order:
    """The order in which a tensor's bytes lie: the dim order that the program declares for it."""
    spec = make_spec(tensor)
    assert spec is not None, "a tensor has a spec"
    return spec.dim_order
