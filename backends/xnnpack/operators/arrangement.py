# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators that move elements or repeat them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import argument, is_static, rank, same_sizes
from executorch.backends.xnnpack.lowering.layout import CHANNELS_LAST, Order, arranged, place_of, plain
from executorch.backends.xnnpack.lowering.lowering import Lowering, reshape
from executorch.backends.xnnpack.lowering.views import order_of_view
from executorch.backends.xnnpack.operators.integers import if_alike
from executorch.backends.xnnpack.operators.rule import MAX_RANK, Rule
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.error import Rejection
from executorch.exir.sym_util import upper_bound

_CONCATENATES = {2: g.Concatenate2, 3: g.Concatenate3, 4: g.Concatenate4, 5: g.Concatenate5}
_MAX_CONCATENATED = max(_CONCATENATES)


def _refuse_cat(node: Node, program: ExportedProgram) -> Rejection | None:
    return None if len(cast("list[Node]", node.args[0])) > 1 else Rejection("it has one operand")


def _cat(low: Lowering, node: Node) -> None:
    sources = cast("list[Node]", node.args[0])
    order = low.order_of(*sources)
    axis = place_of(cast(int, argument(node, 1, "dim", 0)), order)
    parts = [low.read(source, order) for source in sources]
    concatenate(low, node, parts, [low.shape(source, order)[axis] for source in sources], axis, order)


def concatenate(
    low: Lowering, node: Node, parts: Sequence[g.ValueId], sizes: list[int], axis: int, order: Order
) -> None:
    """Concatenate two or more `parts` into `node`'s result. `sizes`: upper bounds of the parts along `axis` of
    `order`.
    """
    concatenate_into(low, node, parts, sizes, axis, low.result(node, order), low.shape(node, order))


def concatenate_into(
    low: Lowering,
    node: Node,
    parts: Sequence[g.ValueId],
    sizes: list[int],
    axis: int,
    result: g.ValueId,
    bounds: list[int],
) -> None:
    """Concatenate two or more `parts` into the value `result` of these bounds."""
    shape = list(bounds)
    while len(parts) > _MAX_CONCATENATED:
        shape[axis] = sum(sizes[:_MAX_CONCATENATED])
        joined = low.writer.value(low.elements(node), shape)
        low.add(_joined(axis, parts[:_MAX_CONCATENATED], joined), node)
        parts = [joined, *parts[_MAX_CONCATENATED:]]
        sizes = [shape[axis], *sizes[_MAX_CONCATENATED:]]
    low.add(_joined(axis, parts, result), node)


def _joined(axis: int, parts: Sequence[g.ValueId], result: g.ValueId) -> object:
    padded = [*parts, *[g.INVALID_ID] * (_MAX_CONCATENATED - len(parts))]
    return _CONCATENATES[len(parts)](axis, *padded[:4], result, 0, padded[4])


def _refuse_pad(node: Node, program: ExportedProgram) -> Rejection | None:
    paddings = cast("list[int]", node.args[1])
    if not is_static(paddings):
        return Rejection(f"paddings are {paddings}, expected static sizes")
    before, after = _paddings(node)
    for size, first, last in zip(cast(Node, node.args[0]).meta["val"].shape, before, after, strict=True):
        if last < 0 and not isinstance(size, int):
            return Rejection("it cuts the end of a dimension of dynamic size")
        if min(first, last) < 0 and upper_bound(size + min(first, 0) + min(last, 0)) == 0:
            return Rejection("it cuts all elements of a dimension")
    return None


def _paddings(node: Node) -> tuple[list[int], list[int]]:
    """Sizes before and after each dimension. They are given from the last dimension to the first; negative ones cut."""
    given = cast("list[int]", node.args[1])
    missing = [0] * (rank(node) - len(given) // 2)
    return [*missing, *given[-2::-2]], [*missing, *given[-1::-2]]


def _pad(low: Lowering, node: Node) -> None:
    source = cast(Node, node.args[0])
    order = low.order_of(source)
    before, after = (arranged(sizes, order) for sizes in _paddings(node))
    number, value = float(cast(float, argument(node, 2, "value", 0.0))), low.read(source, order)
    if min(*before, *after) < 0:
        cut = [max(-first, 0) for first in before], [max(-last, 0) for last in after]
        bounds = [size - first - last for size, first, last in zip(low.shape(source, order), *cut, strict=True)]
        whole = arranged(source.meta["val"].shape, order)
        sizes = [bound if isinstance(size, int) else 0 for bound, size in zip(bounds, whole, strict=True)]
        value = low.step(node, partial(g.StaticSlice, len(sizes), cut[0], sizes), value, shape=bounds)
        before, after = [max(first, 0) for first in before], [max(last, 0) for last in after]
    low.add(g.StaticConstantPad(before, after, number, value, low.result(node, order)), node)


def _permute(low: Lowering, node: Node) -> None:
    order = tuple(dim % rank(node) for dim in cast("list[int]", node.args[1]))
    low.permute(node, cast(Node, node.args[0]), order)


class _View(Enum):
    """Ways to lower a view."""

    RENAMED = 0  # its operand has the same sizes
    RESHAPED = 1  # at most one size is dynamic
    KEEPING_SIZES = 2  # several sizes are dynamic, all but the last at the same places as in its operand


def _view_of(node: Node) -> _View | None:
    """Return the way to lower a view; None if there is none."""
    given, sizes = cast(Node, node.args[0]).meta["val"].shape, node.meta["val"].shape
    if same_sizes(given, sizes):
        return _View.RENAMED
    *copied, _ = [place for place, size in enumerate(sizes) if not isinstance(size, int)] or [0]
    if not copied:
        return _View.RESHAPED
    is_kept = all(same_sizes(given[place : place + 1], sizes[place : place + 1]) for place in copied)
    return _View.KEEPING_SIZES if is_kept else None


def _refuse_view(node: Node, program: ExportedProgram) -> Rejection | None:
    if _view_of(node) is not None:
        return None
    unknown = [size for size in node.meta["val"].shape if not isinstance(size, int)]
    return Rejection(f"{len(unknown)} sizes are dynamic, expected all but the last where its operand has them")


def _keeps_several_sizes(node: Node, program: ExportedProgram) -> bool:
    return _view_of(node) is _View.KEEPING_SIZES


def _view(low: Lowering, node: Node) -> None:
    source, view = cast(Node, node.args[0]), _view_of(node)
    if view is _View.RENAMED:
        low.rename(node, source)
        return
    sizes, wanted = source.meta["val"].shape, node.meta["val"].shape
    # Sizes that a reshape keeps are counted in the program's order.
    free_orders = [] if view is _View.KEEPING_SIZES else low.orders_of(source)
    views = {
        order: order_of_view(sizes, wanted, order) for order in free_orders if plain(rank(source)) not in free_orders
    }
    order, shape = next(((order, view) for order, view in views.items() if view), (None, plain(rank(node))))
    low.add(reshape(arranged(wanted, shape), low.read(source, order), low.result(node, shape)), node)


def _refuse_expand(node: Node, program: ExportedProgram) -> Rejection | None:
    source = cast(Node, node.args[0])
    if same_sizes(source.meta["val"].shape, node.meta["val"].shape):
        return None
    fixed = is_static(_repeated_sizes(node))
    return None if fixed else Rejection("the number of times that it repeats elements is dynamic")


def _expand(low: Lowering, node: Node) -> None:
    """Repeat by broadcasting against ones: multiplying by one changes no value."""
    source = cast(Node, node.args[0])
    if same_sizes(source.meta["val"].shape, node.meta["val"].shape):
        low.rename(node, source)
        return
    low.add(_repeats(low, node, low.read(source), _repeated_sizes(node))(low.result(node)), node)


def _repeats(low: Lowering, node: Node, value: g.ValueId, sizes: list[int]) -> Callable[[g.ValueId], object]:
    """Return a function from a result to the node that broadcasts `value` against ones of these sizes."""
    dtype: torch.dtype = node.meta["val"].dtype
    ones = low.writer.constant(torch.ones(sizes, dtype=dtype))
    if dtype == torch.bool:
        return partial(g.Select, value, ones, truth(low, False))
    return partial(g.Multiply, value, ones)


def _repeated_sizes(node: Node) -> list[int]:
    """Return the sizes of the result, 1 for dimensions that are not repeated."""
    sizes, wanted = cast(Node, node.args[0]).meta["val"].shape, node.meta["val"].shape
    padded = [*[1] * (len(wanted) - len(sizes)), *sizes]
    pairs = zip(padded, wanted, strict=True)
    return [1 if same_sizes([size], [other]) else cast(int, other) for size, other in pairs]


def _parts_of_repeat(node: Node) -> tuple[list[int], list[int]]:
    """Shapes of the operand and of the ones it is broadcast against: a repeated dimension becomes (count, size)."""
    shape = cast(Node, node.args[0]).meta["val"].shape
    counts = cast("list[int]", node.args[1])
    apart, ones = [], []
    for size, count in zip([*[1] * (len(counts) - len(shape)), *shape], counts, strict=True):
        apart += [size] if count == 1 else [1, size]
        ones += [1] if count == 1 else [count, 1]
    return apart, ones


def _refuse_repeat(node: Node, program: ExportedProgram) -> Rejection | None:
    if not is_static(node.meta["val"].shape) or not is_static(cast("list[object]", node.args[1])):
        return Rejection("its sizes are dynamic")
    needed = len(_parts_of_repeat(node)[0])
    return None if needed <= MAX_RANK else Rejection(f"it needs {needed} dimensions, at most {MAX_RANK}")


def _repeat(low: Lowering, node: Node) -> None:
    source = cast(Node, node.args[0])
    sizes, counts = _parts_of_repeat(node)
    apart = low.reshaped(node, low.read(source), sizes, sizes)
    shape = [size * count for size, count in zip(sizes, counts, strict=True)]
    repeated = low.step(node, _repeats(low, node, apart, counts), shape=shape)
    low.add(reshape(low.shape(node), repeated, low.result(node)), node)


def _refuse_copy(node: Node, program: ExportedProgram) -> Rejection | None:
    source = cast(Node, node.args[0])
    if source.meta["val"].dtype == node.meta["val"].dtype or rank(node):
        return None
    return Rejection("it converts a rank-0 tensor")


def _copy(low: Lowering, node: Node) -> None:
    source = cast(Node, node.args[0])
    if source.meta["val"].dtype == node.meta["val"].dtype:
        low.rename(node, source)
        return
    order = low.order_of(source)
    value, output = low.read(source, order), low.result(node, order)
    if source.meta["val"].dtype == torch.bool:
        low.add(g.Select(value, low.scalar(node, 1.0), low.scalar(node, 0.0), output), node)
    elif node.meta["val"].dtype == torch.bool:
        zero = low.writer.constant(torch.zeros((), dtype=source.meta["val"].dtype))
        low.add(g.NotEqual(value, zero, output), node)
    else:
        low.add(g.Convert(value, output), node)


def truth(low: Lowering, value: bool) -> g.ValueId:
    """A boolean constant."""
    return low.writer.constant(torch.tensor(value))


def _refuse_shuffle(node: Node, program: ExportedProgram) -> Rejection | None:
    if rank(cast(Node, node.args[0])) != 4:
        return Rejection("its operand is not a batch of images (rank 4)")
    return None if is_static(node.meta["val"].shape[1:]) else Rejection("the size of its images is dynamic")


def _pixel_shuffle(low: Lowering, node: Node) -> None:
    """[N, C·r·r, H, W] → [N, C, H·r, W·r], which is [N, H, r, W, r, C] with its channels last."""
    source, factor = cast(Node, node.args[0]), cast(int, node.args[1])
    batch, channels, height, width = low.shape(node)
    height, width = height // factor, width // factor
    last = low.read(source, CHANNELS_LAST)
    # XNNPACK has at most six dimensions, so batch and height share one.
    parts = [batch * height, width, channels, factor, factor]
    apart = low.reshaped(node, last, [None, *parts[1:]], parts)
    steps = [0, 3, 1, 4, 2]
    moved = low.writer.value(low.elements(node), [parts[place] for place in steps])
    low.add(g.StaticTranspose(5, steps, apart, moved), node)
    sizes = arranged(node.meta["val"].shape, CHANNELS_LAST)
    low.add(reshape(sizes, moved, low.result(node, CHANNELS_LAST)), node)


_VIEW = Rule(_view, _refuse_view, on_integers=if_alike, booleans=True, newer=_keeps_several_sizes)
RULES: dict[str, Rule] = {
    "cat.default": Rule(_cat, _refuse_cat, on_integers=if_alike, booleans=True, takes_empty=True),
    "constant_pad_nd.default": Rule(_pad, _refuse_pad, on_integers=if_alike, booleans=True, takes_empty=True),
    "permute_copy.default": Rule(_permute, on_integers=if_alike, booleans=True),
    "view_copy.default": _VIEW,
    "unsqueeze_copy.default": _VIEW,
    "squeeze_copy.dim": _VIEW,
    "squeeze_copy.dims": _VIEW,
    "expand_copy.default": Rule(_expand, _refuse_expand, booleans=True),
    "repeat.default": Rule(_repeat, _refuse_repeat, booleans=True),
    "clone.default": Rule(_copy, on_integers=if_alike, booleans=True),
    "_clone_dim_order.default": Rule(_copy, on_integers=if_alike, booleans=True),
    "_to_dim_order_copy.default": Rule(_copy, _refuse_copy, mixes_dtypes=True, booleans=True),
    "pixel_shuffle.default": Rule(_pixel_shuffle, _refuse_shuffle, on_integers=if_alike),
}
