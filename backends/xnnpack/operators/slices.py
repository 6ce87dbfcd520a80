# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Parts of tensors: slice, select, split, unbind, unfold, slice_scatter, as slices in the order of their source."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import (
    argument,
    constant_tensor,
    getitems_of,
    is_reshapable,
    is_static,
    rank,
)
from executorch.backends.xnnpack.lowering.layout import Order, arranged, place_of
from executorch.backends.xnnpack.lowering.lowering import Lowering, fixed_sizes, reshape
from executorch.backends.xnnpack.operators.arrangement import concatenate, concatenate_into
from executorch.backends.xnnpack.operators.gather import gather, refusal_of_places
from executorch.backends.xnnpack.operators.integers import if_alike
from executorch.backends.xnnpack.operators.rule import FLOATS_AND_BOOLEANS, Rule, refusal_of_reshape, refusal_of_tensor
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.error import Rejection
from executorch.exir.rewrite.program_constants import constant_spec_of

_TO_THE_END = 2**63 - 1
_MAX_RUNS = 8
_MAX_WINDOWS = 32


def _source(node: Node) -> Node:
    return cast(Node, node.args[0])


def _dim(node: Node, place: int) -> int:
    return cast(int, argument(node, place, "dim", 0)) % max(rank(_source(node)), 1)


def _part(low: Lowering, source: Node, dim: int, first: int, size: int, order: Order, output: g.ValueId) -> object:
    """Slice of `size` elements from `first` along a dimension. A size of 0 means: to the end."""
    whole = arranged(source.meta["val"].shape, order)
    return _slice_of(place_of(dim, order), first, size, whole, low.read(source, order), output)


def _bounds(node: Node) -> tuple[object, object]:
    """Start and end of a slice; static values are clamped to the source's size."""
    size = _source(node).meta["val"].shape[_dim(node, 1)]
    start, end = argument(node, 2, "start"), argument(node, 3, "end")
    first, last = 0 if start is None else start, _TO_THE_END if end is None else end
    if isinstance(size, int) and isinstance(first, int):
        first = min(max(first + size if first < 0 else first, 0), size)
    if isinstance(size, int) and isinstance(last, int):
        last = min(max(last + size if last < 0 else last, 0), size)
    return first, last


def _refuse_slice(node: Node, program: ExportedProgram) -> Rejection | None:
    first, last = _bounds(node)
    size, length = (tensor.meta["val"].shape[_dim(node, 1)] for tensor in (_source(node), node))
    if not isinstance(first, int) or first < 0:
        return Rejection("its start is dynamic")
    if argument(node, 4, "step", 1) != 1:
        return _refuse_steps(node)
    reaches_end = isinstance(last, int) and last == _TO_THE_END
    if reaches_end or (isinstance(size, int) and isinstance(last, int)):
        return None
    return None if isinstance(length, int) else Rejection("its end is dynamic")


def _refuse_steps(node: Node) -> Rejection | None:
    if not isinstance(_source(node).meta["val"].shape[_dim(node, 1)], int):
        return Rejection("its step is not 1 and the size of that dimension is dynamic")
    if is_reshapable(node.meta["val"].shape):
        return None
    return Rejection("its step is not 1 and more than one size is dynamic")


def _slice(low: Lowering, node: Node) -> None:
    source, dim = _source(node), _dim(node, 1)
    first, _ = _bounds(node)
    order = low.order_of(source)
    step = cast(int, argument(node, 4, "step", 1))
    if step != 1:
        _every(low, node, dim, cast(int, first), step, order)
        return
    size = node.meta["val"].shape[dim]
    output = low.result(node, order)
    low.add(_part(low, source, dim, cast(int, first), size if isinstance(size, int) else 0, order, output), node)


def _every(low: Lowering, node: Node, dim: int, first: int, step: int, order: Order) -> None:
    """Every step-th element of a dimension: reshape to groups of `step` elements, take the first of each."""
    source, axis = _source(node), place_of(dim, order)
    sizes = arranged(source.meta["val"].shape, order)
    bounds, count = low.shape(source, order), cast(int, node.meta["val"].shape[dim])
    value, missing = low.read(source, order), max(first + count * step - bounds[axis], 0)
    if missing:
        bounds[axis] += missing
        after = [missing if place == axis else 0 for place in range(len(bounds))]
        value = low.step(node, partial(g.StaticConstantPad, [0] * len(bounds), after, 0.0), value, shape=bounds)
    if first or bounds[axis] > count * step:
        bounds[axis] = count * step
        value = low.step(node, partial(_slice_of, axis, first, count * step, sizes), value, shape=bounds)
    groups = [_product(sizes[:axis]), count, step, _product(sizes[axis + 1 :])]
    largest = [math.prod(bounds[:axis]), count, step, math.prod(bounds[axis + 1 :])]
    value = low.reshaped(node, value, groups, largest)
    largest[2] = 1
    value = low.step(node, partial(_slice_of, 2, 0, 1, groups), value, shape=largest)
    low.add(reshape(arranged(node.meta["val"].shape, order), value, low.result(node, order)), node)


def _product(sizes: Sequence[object]) -> object:
    """Return the product of sizes; None if one of them is dynamic."""
    return math.prod(cast("Sequence[int]", sizes)) if is_static(sizes) else None


def _slice_of(
    axis: int, first: int, size: int, whole: Sequence[object], value: g.ValueId, output: g.ValueId
) -> g.StaticSlice:
    offsets, sizes = [0] * len(whole), fixed_sizes(whole)
    offsets[axis], sizes[axis] = first, size
    return g.StaticSlice(len(sizes), offsets, sizes, value, output)


def _refuse_select(node: Node, program: ExportedProgram) -> Rejection | None:
    size, index = _source(node).meta["val"].shape[_dim(node, 1)], node.args[2]
    if not isinstance(index, int) or not (index >= 0 or isinstance(size, int)):
        return Rejection("its index is dynamic")
    return refusal_of_reshape(node.meta["val"].shape)


def _without(order: Order, dim: int) -> Order:
    return tuple(place - (place > dim) for place in order if place != dim)


def _take_one(low: Lowering, source: Node, node: Node, dim: int, index: int) -> None:
    """Emit `node` as `source` at `index` of dimension `dim`."""
    order = low.order_of(source)
    bounds = low.shape(source, order)
    bounds[place_of(dim, order)] = 1
    part = low.writer.value(low.elements(node), bounds)
    low.add(_part(low, source, dim, index, 1, order, part), node)
    result_order = _without(order, dim)
    sizes = [node.meta["val"].shape[place] for place in result_order]
    low.add(reshape(sizes, part, low.result(node, result_order)), node)


def _select(low: Lowering, node: Node) -> None:
    dim, index = _dim(node, 1), cast(int, node.args[2])
    size = _source(node).meta["val"].shape[dim]
    _take_one(low, _source(node), node, dim, index % size if isinstance(size, int) else index)


def _refuse_unbind(node: Node, program: ExportedProgram) -> Rejection | None:
    return refusal_of_reshape(*(part.shape for part in node.meta["val"]))


def _unbind(low: Lowering, node: Node) -> None:
    for index, user in getitems_of(node).items():
        _take_one(low, _source(node), user, _dim(node, 1), index)


def _refuse_split(node: Node, program: ExportedProgram) -> Rejection | None:
    return None if is_static(cast("list[object]", node.args[1])) else Rejection("the sizes of its parts are dynamic")


def _split(low: Lowering, node: Node) -> None:
    source, dim = _source(node), _dim(node, 2)
    sizes = cast("list[int]", node.args[1])
    order = low.order_of(source)
    for index, user in getitems_of(node).items():
        low.add(_part(low, source, dim, sum(sizes[:index]), sizes[index], order, low.result(user, order)), node)


def _runs(index: torch.Tensor, size: int) -> list[tuple[int, int]]:
    """(start, length) of each run of consecutive indices."""
    places = [int(place) % size for place in index.flatten()]
    starts = [i for i, place in enumerate(places) if i == 0 or place != places[i - 1] + 1]
    return [(places[i], end - i) for i, end in zip(starts, [*starts[1:], len(places)], strict=True)]


def _refuse_index_select(node: Node, program: ExportedProgram) -> Rejection | None:
    rejection = refusal_of_tensor(_source(node), FLOATS_AND_BOOLEANS) or refusal_of_tensor(node, FLOATS_AND_BOOLEANS)
    size, index = _source(node).meta["val"].shape[_dim(node, 1)], constant_tensor(program, node.args[2])
    if rejection or index is None or not isinstance(size, int):
        return rejection or Rejection("its indices are computed, expected constants")
    return refusal_of_places(node, index.numel())


def _has_many_runs(node: Node, program: ExportedProgram) -> bool:
    index = constant_tensor(program, node.args[2])
    return index is not None and len(_runs(index, _source(node).meta["val"].shape[_dim(node, 1)])) > _MAX_RUNS


def _index_select(low: Lowering, node: Node) -> None:
    """Few runs become slices, which ExecuTorch 1.4 has too. A roll has two runs for each dimension."""
    source, dim = _source(node), _dim(node, 1)
    runs = _runs(cast(torch.Tensor, low.constant(cast(Node, node.args[2]))), source.meta["val"].shape[dim])
    order = low.order_of(source)
    if len(runs) == 1:
        low.add(_part(low, source, dim, *runs[0], order, low.result(node, order)), node)
        return
    if len(runs) > _MAX_RUNS:
        gather(low, node, source, dim, [first + place for first, size in runs for place in range(size)])
        return
    parts = []
    for first, size in runs:
        bounds = low.shape(source, order)
        bounds[place_of(dim, order)] = size
        parts.append(low.writer.value(low.elements(node), bounds))
        low.add(_part(low, source, dim, first, size, order, parts[-1]), node)
    concatenate(low, node, parts, [size for _, size in runs], place_of(dim, order), order)


def _refuse_unfold(node: Node, program: ExportedProgram) -> Rejection | None:
    source = _source(node)
    if rank(source) == 0:
        return Rejection("its operand has rank 0")
    windows = node.meta["val"].shape[_dim(node, 1)]
    if not isinstance(source.meta["val"].shape[_dim(node, 1)], int) or not isinstance(windows, int):
        return Rejection("the size of that dimension is dynamic")
    rejection = refusal_of_places(node, windows * cast(int, node.args[2]))
    return rejection or refusal_of_reshape(node.meta["val"].shape)


def _has_many_windows(node: Node, program: ExportedProgram) -> bool:
    return bool(node.meta["val"].shape[_dim(node, 1)] > _MAX_WINDOWS)


def _unfold(low: Lowering, node: Node) -> None:
    """Concatenate the windows of a dimension. In memory, the dimension of their elements follows it."""
    source, dim = _source(node), _dim(node, 1)
    width, step = cast(int, node.args[2]), cast(int, node.args[3])
    order = low.order_of(source)
    axis, windows = place_of(dim, order), cast(int, node.meta["val"].shape[dim])
    bounds = low.shape(source, order)
    windows_last = (*order[: axis + 1], rank(source), *order[axis + 1 :])
    if windows > _MAX_WINDOWS:
        bounds[axis] = windows * width
        places = [window * step + place for window in range(windows) for place in range(width)]
        kind = partial(g.StaticGather, axis, places)
        joined = low.step(node, kind, low.read(source, order), shape=bounds)
        low.add(reshape(arranged(node.meta["val"].shape, windows_last), joined, low.result(node, windows_last)), node)
        return
    bounds[axis] = width
    parts = []
    for window in range(windows):
        parts.append(low.writer.value(low.elements(node), bounds))
        low.add(_part(low, source, dim, window * step, width, order, parts[-1]), node)
    joined = parts[0]
    if windows > 1:
        bounds = [*bounds[:axis], windows * width, *bounds[axis + 1 :]]
        joined = low.writer.value(low.elements(node), bounds)
        concatenate_into(low, node, parts, [width] * windows, axis, joined, bounds)
    low.add(reshape(arranged(node.meta["val"].shape, windows_last), joined, low.result(node, windows_last)), node)


def _written(node: Node) -> range:
    """The places that a slice_scatter writes."""
    size = cast(int, _source(node).meta["val"].shape[_dim(node, 2)])
    start, end, step = argument(node, 3, "start"), argument(node, 4, "end"), argument(node, 5, "step", 1)
    return range(*slice(start, end, step).indices(size))


def _writes_in_steps(node: Node, program: ExportedProgram) -> bool:
    return _written(node).step != 1


def _refuse_slice_scatter(node: Node, program: ExportedProgram) -> Rejection | None:
    sizes = [tensor.meta["val"].shape[_dim(node, 2)] for tensor in (_source(node), cast(Node, node.args[1]))]
    bounds = [argument(node, 3, "start"), argument(node, 4, "end")]
    if not is_static(sizes) or not all(bound is None or isinstance(bound, int) for bound in bounds):
        return Rejection("the part that it writes is dynamic")
    if {source.meta["val"].dtype for source in node.all_input_nodes} != {node.meta["val"].dtype}:
        return Rejection("its operands differ in dtype")
    buffer = constant_spec_of(program, _source(node))
    if buffer is not None and buffer.target in program.graph_signature.buffers_to_mutate.values():
        return Rejection("it writes to a buffer, in its place outside of delegates")
    written = _written(node)
    if not written:
        return Rejection("it writes nothing")
    return refusal_of_places(node, cast(int, sizes[0])) if written.step != 1 else None


def _slice_scatter(low: Lowering, node: Node) -> None:
    """Concatenate the slice before the written part, the part, and the slice after it."""
    source, dim, written = _source(node), _dim(node, 2), _written(node)
    if written.step != 1:
        _scatter_in_steps(low, node, written)
        return
    first, last = written.start, written.stop
    order = low.order_of(source)
    whole, part = cast(int, source.meta["val"].shape[dim]), low.read(cast(Node, node.args[1]), order)
    if last - first == whole:
        low.add(reshape(arranged(node.meta["val"].shape, order), part, low.result(node, order)), node)
        return
    pieces, sizes = [part], [last - first]
    for start, size, place in ((0, first, 0), (last, whole - last, len(sizes) + 1)):
        if size:
            bounds = low.shape(source, order)
            bounds[place_of(dim, order)] = size
            output = low.writer.value(low.elements(node), bounds)
            low.add(_part(low, source, dim, start, size, order, output), node)
            pieces.insert(place, output)
            sizes.insert(place, size)
    concatenate(low, node, pieces, sizes, place_of(dim, order), order)


def _scatter_in_steps(low: Lowering, node: Node, written: range) -> None:
    """Gather each element from the concatenation of the source and the written part."""
    source, part, dim = _source(node), cast(Node, node.args[1]), _dim(node, 2)
    order = low.order_of(source)
    axis, whole = place_of(dim, order), cast(int, source.meta["val"].shape[dim])
    bounds = low.shape(source, order)
    bounds[axis] = whole + len(written)
    joined = low.writer.value(low.elements(node), bounds)
    operands = [low.read(operand, order) for operand in (source, part)]
    concatenate_into(low, node, operands, [whole, len(written)], axis, joined, bounds)
    places = list(range(whole))
    places[written.start : written.stop : written.step] = range(whole, whole + len(written))
    low.add(g.StaticGather(axis, places, joined, low.result(node, order)), node)


RULES: dict[str, Rule] = {
    "slice_scatter.default": Rule(_slice_scatter, _refuse_slice_scatter, booleans=True, newer=_writes_in_steps),
    "unfold_copy.default": Rule(_unfold, _refuse_unfold, booleans=True, newer=_has_many_windows),
    "slice_copy.Tensor": Rule(_slice, _refuse_slice, on_integers=if_alike, booleans=True),
    "index_select.default": Rule(_index_select, _refuse_index_select, any_tensors=True, newer=_has_many_runs),
    "select_copy.int": Rule(_select, _refuse_select, on_integers=if_alike, booleans=True),
    "split_with_sizes_copy.default": Rule(_split, _refuse_split, booleans=True),
    "unbind_copy.int": Rule(_unbind, _refuse_unbind, booleans=True),
}
