# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Views of permuted tensors: a view that splits or joins dimensions adjacent in memory needs no transposition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from executorch.backends.xnnpack.lowering.layout import Order


class _Group(NamedTuple):
    """Dimensions of a tensor and the dimensions of its view with the same elements; one of the two may be empty."""

    source: list[int]
    view: list[int]


def order_of_view(sizes: Sequence[object], view: Sequence[object], order: Order) -> Order | None:
    """The order of a view that keeps the memory of a tensor of `sizes` in `order`; None if no order does."""
    groups = _groups(sizes, view)
    if groups is None:
        return None
    placed: list[tuple[int, list[int]]] = []
    waiting: list[int] = []
    for source, result_dims in groups:
        places = [order.index(dim) for dim in source]
        if not places:
            # A new dimension of size 1 may be anywhere; keep it before the next dimension.
            waiting += result_dims
        elif places != list(range(places[0], places[0] + len(places))):
            return None
        elif result_dims:
            placed.append((places[0], waiting + result_dims))
            waiting = []
    ordered = [dim for _, dims in sorted(placed) for dim in dims]
    return (*ordered, *waiting)


def _groups(sizes: Sequence[object], view: Sequence[object]) -> list[_Group] | None:
    """Match dimensions of a tensor and its view; None if a dynamic size would be split or joined."""
    groups: list[_Group] = []
    first = second = 0
    while first < len(sizes) or second < len(view):
        mine = sizes[first] if first < len(sizes) else None
        theirs = view[second] if second < len(view) else None
        if mine is not None and theirs is not None and str(mine) == str(theirs):
            groups.append(_Group([first], [second]))
        elif isinstance(mine, int) and mine == 1:
            groups.append(_Group([first], []))
        elif isinstance(theirs, int) and theirs == 1:
            groups.append(_Group([], [second]))
        else:
            group = _joined(sizes, view, first, second)
            if group is None:
                return None
            groups.append(group)
        first, second = first + len(groups[-1].source), second + len(groups[-1].view)
    return groups


def _joined(sizes: Sequence[object], view: Sequence[object], first: int, second: int) -> _Group | None:
    """The fewest dimensions from `first` and `second` on with equal numbers of elements; None if a size is dynamic."""
    group = _Group([], [])
    mine = theirs = 1
    while not group.source or not group.view or mine != theirs:
        less = mine <= theirs and first + len(group.source) < len(sizes)
        dims, values = (group.source, sizes) if less else (group.view, view)
        place = (first if less else second) + len(dims)
        size = values[place] if place < len(values) else None
        if not isinstance(size, int):
            return None
        dims.append(place)
        mine, theirs = (mine * size, theirs) if less else (mine, theirs * size)
    return group
