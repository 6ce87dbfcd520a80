# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Parts of tensors: slice, select, split, unbind. Each is one slice in the order in which its source lies."""

from __future__ import annotations

from typing import cast

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import argument, is_static, numbers_in, rank, taken
from executorch.backends.xnnpack.lowering.layout import Order, place_of
from executorch.backends.xnnpack.lowering.lowering import Lowering, reshape
from executorch.backends.xnnpack.operators.integers import if_alike
from executorch.backends.xnnpack.operators.rule import Rule
from executorch.backends.xnnpack.serialization import xnnpack_graph as g

_TO_THE_END = 2**63 - 1


def _source(node: Node) -> Node:
    return cast(Node, node.args[0])


def _dim(node: Node, place: int) -> int:
    return cast(int, argument(node, place, "dim", 0)) % max(rank(_source(node)), 1)


def _part(low: Lowering, source: Node, dim: int, first: int, size: int, order: Order, made: int) -> object:
    """The slice of `size` elements from `first` of a dimension. 0 for a size: all that follows."""
    whole = source.meta["val"].shape
    offsets, sizes = [0] * rank(source), [each if isinstance(each, int) else 0 for each in whole]
    offsets[dim], sizes[dim] = first, size
    ordered = [offsets[each] for each in order], [sizes[each] for each in order]
    return g.StaticSlice(len(sizes), *ordered, low.read(source, order), made)


def _bounds(node: Node) -> tuple[object, object]:
    """First element and end of a slice, where they are numbers, within the source's size."""
    size = _source(node).meta["val"].shape[_dim(node, 1)]
    start, end = argument(node, 2, "start"), argument(node, 3, "end")
    first, last = 0 if start is None else start, _TO_THE_END if end is None else end
    if isinstance(size, int) and isinstance(first, int):
        first = min(max(first + size if first < 0 else first, 0), size)
    if isinstance(size, int) and isinstance(last, int):
        last = min(max(last + size if last < 0 else last, 0), size)
    return first, last


def _refuse_slice(node: Node, program: ExportedProgram) -> str | None:
    if argument(node, 4, "step", 1) != 1:
        return "its step is not 1"
    first, last = _bounds(node)
    size, found = (each.meta["val"].shape[_dim(node, 1)] for each in (_source(node), node))
    if not isinstance(first, int) or first < 0:
        return "it starts at a place that is not fixed"
    whole = isinstance(last, int) and last == _TO_THE_END
    if whole or (isinstance(size, int) and isinstance(last, int)):
        return None
    return None if isinstance(found, int) else "it ends at a place that is not fixed"


def _slice(low: Lowering, node: Node) -> None:
    source, dim = _source(node), _dim(node, 1)
    first, _ = _bounds(node)
    size = node.meta["val"].shape[dim]
    order = low.order_of(source)
    made = low.result(node, order)
    low.add(_part(low, source, dim, cast(int, first), size if isinstance(size, int) else 0, order, made), node)


def _refuse_select(node: Node, program: ExportedProgram) -> str | None:
    size, index = _source(node).meta["val"].shape[_dim(node, 1)], node.args[2]
    if not isinstance(index, int) or not (index >= 0 or isinstance(size, int)):
        return "its index is not fixed"
    return None if numbers_in(node.meta["val"].shape) else "more than one of its sizes is not fixed"


def _without(order: Order, dim: int) -> Order:
    return tuple(each - (each > dim) for each in order if each != dim)


def _take_one(low: Lowering, source: Node, node: Node, dim: int, index: int) -> None:
    """`node` is the tensor at `index` of a dimension of `source`."""
    order = low.order_of(source)
    bounds = low.shape(source, order)
    bounds[place_of(dim, order)] = 1
    part = low.writer.value(low.elements(node), bounds)
    low.add(_part(low, source, dim, index, 1, order, part), node)
    left = _without(order, dim)
    sizes = [node.meta["val"].shape[each] for each in left]
    low.add(reshape(sizes, part, low.result(node, left)), node)


def _select(low: Lowering, node: Node) -> None:
    dim, index = _dim(node, 1), cast(int, node.args[2])
    size = _source(node).meta["val"].shape[dim]
    _take_one(low, _source(node), node, dim, index % size if isinstance(size, int) else index)


def _refuse_unbind(node: Node, program: ExportedProgram) -> str | None:
    parts = node.meta["val"]
    return None if all(numbers_in(each.shape) for each in parts) else "more than one of its sizes is not fixed"


def _unbind(low: Lowering, node: Node) -> None:
    for index, user in taken(node).items():
        _take_one(low, _source(node), user, _dim(node, 1), index)


def _refuse_split(node: Node, program: ExportedProgram) -> str | None:
    return None if is_static(cast("list[object]", node.args[1])) else "the sizes of its parts are not fixed"


def _split(low: Lowering, node: Node) -> None:
    source, dim = _source(node), _dim(node, 2)
    sizes = cast("list[int]", node.args[1])
    order = low.order_of(source)
    for index, user in taken(node).items():
        low.add(_part(low, source, dim, sum(sizes[:index]), sizes[index], order, low.result(user, order)), node)


RULES: dict[str, Rule] = {
    "slice_copy.Tensor": Rule(_slice, _refuse_slice, on_integers=if_alike),
    "select_copy.int": Rule(_select, _refuse_select, on_integers=if_alike),
    "split_with_sizes_copy.default": Rule(_split, _refuse_split),
    "unbind_copy.int": Rule(_unbind, _refuse_unbind),
}
