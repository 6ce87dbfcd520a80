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
    """Return the order in which a view keeps the memory of a tensor of `sizes` in `order`; None if no order does."""
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
        source_size = sizes[first] if first < len(sizes) else None
        view_size = view[second] if second < len(view) else None
        if source_size is not None and view_size is not None and str(source_size) == str(view_size):
            groups.append(_Group([first], [second]))
        elif isinstance(source_size, int) and source_size == 1:
            groups.append(_Group([first], []))
        elif isinstance(view_size, int) and view_size == 1:
            groups.append(_Group([], [second]))
        else:
            group = _joined(sizes, view, first, second)
            if group is None:
                return None
            groups.append(group)
        first, second = first + len(groups[-1].source), second + len(groups[-1].view)
    return groups


def _joined(sizes: Sequence[object], view: Sequence[object], first: int, second: int) -> _Group | None:
    """Return the fewest dimensions from `first` and `second` on with equal element counts; None for dynamic sizes."""
    group = _Group([], [])
    source_elements = view_elements = 1
    while not group.source or not group.view or source_elements != view_elements:
        extends_source = source_elements <= view_elements and first + len(group.source) < len(sizes)
        dims, values = (group.source, sizes) if extends_source else (group.view, view)
        place = (first if extends_source else second) + len(dims)
        size = values[place] if place < len(values) else None
        if not isinstance(size, int):
            return None
        dims.append(place)
        if extends_source:
            source_elements *= size
        else:
            view_elements *= size
    return group
