# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Means, sums and variances over any dimensions, reshaped to means of images, the only mean of the payload.

Reshaping infers at most one size. Where more are dynamic, means and sums of rows are products with a column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import argument, is_reshapable, is_static, operator_of, rank
from executorch.backends.xnnpack.lowering.layout import CHANNELS_LAST, Order, arranged, moved_last, place_of, plain
from executorch.backends.xnnpack.lowering.lowering import Lowering, fixed_sizes, reshape
from executorch.backends.xnnpack.lowering.quantization import DEQUANTIZE
from executorch.backends.xnnpack.operators.integers import if_alike
from executorch.backends.xnnpack.operators.rule import Rule, refusal_of_emptiness, refusal_of_reshape
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.error import Rejection

_KEEP_DIMS = 0x40  # XNNPACK's flag


def image_mean(source: g.ValueId, output: g.ValueId) -> object:
    """[N, H, W, C] → [N, 1, 1, C]."""
    return g.GlobalAvgPooling2d(source, output, _KEEP_DIMS)


def image_sum(source: g.ValueId, output: g.ValueId) -> object:
    """[N, H, W, C] → [N, 1, 1, C]."""
    return g.Sum(source, output, _KEEP_DIMS)


def row_product(low: Lowering, node: Node, rows: g.ValueId, factor: float, output: g.ValueId) -> None:
    """Emit the sum of each row times `factor` as a product in float32: [..., C] → [..., 1], with any sizes before C."""
    column = low.writer.constant(torch.full([1, low.shape(cast(Node, node.args[0]))[-1]], factor))
    low.add_in_full_precision(g.FullyConnected(rows, column, g.INVALID_ID, output), node)


class Parts(NamedTuple):
    """Sizes in memory order: before the reduced dimensions, the reduced ones, after them."""

    before: list[object]
    reduced: list[object]
    after: list[object]

    def are_images(self) -> bool:
        """Return whether the sizes are [N, H, W, C], which need no reshape."""
        return [len(part) for part in self] == [1, 2, 1]

    def as_images(self) -> list[object]:
        """The sizes of the same elements as images of one column, [N, H, 1, C]; None for a dynamic size."""
        before, reduced, after = (
            torch.Size(cast("list[int]", sizes)).numel() if is_static(sizes) else None for sizes in self
        )
        return [before, reduced, 1, after]


def parts_of(sizes: Sequence[object], order: Order, dims: Sequence[int]) -> Parts | None:
    """Split sizes at the reduced dimensions. Return None for dimensions that are apart in memory, and for sizes that
    need a reshape with two dynamic sizes.
    """
    places = sorted(order.index(dim) for dim in dims)
    if places != list(range(places[0], places[0] + len(places))):
        return None
    ordered = arranged(sizes, order)
    parts = Parts(ordered[: places[0]], ordered[places[0] : places[-1] + 1], ordered[places[-1] + 1 :])
    return parts if parts.are_images() or sum(not is_static(sizes) for sizes in parts) < 2 else None


def _are_images(sizes: Sequence[object], dims: Sequence[int]) -> bool:
    """Return whether the sizes are images in the program's order or with their channels last."""
    parts = [parts_of(sizes, order, dims) for order in (plain(len(sizes)), CHANNELS_LAST) if len(order) == len(sizes)]
    return any(one is not None and one.are_images() for one in parts)


def reduced_dims(node: Node) -> list[int]:
    """The dimensions that a reduction removes, in order."""
    ranks = rank(cast(Node, node.args[0]))
    given = cast("list[int] | None", argument(node, 1, "dim"))
    return sorted(dim % ranks for dim in given) if given else list(range(ranks))


def _reduces_rows(node: Node) -> bool:
    """Return whether a reduction replaces the last dimension, of static size, by 1."""
    source = cast(Node, node.args[0])
    is_last = reduced_dims(node) == [rank(source) - 1] and is_static(source.meta["val"].shape[-1:])
    return is_last and _keeps_dims(node) and operator_of(source) != DEQUANTIZE


def _reduced_sizes(node: Node) -> list[int]:
    """The sizes of the dimensions that a reduction removes."""
    shape = cast(Node, node.args[0]).meta["val"].shape
    return [shape[dim] for dim in reduced_dims(node)]


def _is_sum_node(node: Node, program: ExportedProgram) -> bool:
    return not is_static(_reduced_sizes(node))


def _refuse(node: Node, program: ExportedProgram) -> Rejection | None:
    source = cast(Node, node.args[0])
    if rank(source) == 0:
        return Rejection("its operand has rank 0")
    dims, sizes = reduced_dims(node), source.meta["val"].shape
    kept = [size for dim, size in enumerate(sizes) if dim not in dims]
    if _are_images(sizes, dims):
        return refusal_of_reshape(kept)
    # Lowering merges the reduced dimensions to one size, so several may be dynamic.
    dynamic = [sizes[dim] for dim in dims if not isinstance(sizes[dim], int)]
    return refusal_of_reshape([*kept, *dynamic[:1]])


def _refuse_mean(node: Node, program: ExportedProgram) -> Rejection | None:
    is_quantized = operator_of(cast(Node, node.args[0])) == DEQUANTIZE
    # int8 lacks NaN.
    return _refuse_sum(node, program) or (refusal_of_emptiness(node) if is_quantized else None)


def _refuse_sum(node: Node, program: ExportedProgram) -> Rejection | None:
    return None if _needs_product(node) else _refuse(node, program)


def _needs_product(node: Node) -> bool:
    """Return whether a reduction of rows keeps too many dynamic sizes to be reshaped."""
    source = cast(Node, node.args[0])
    return rank(source) > 0 and _reduces_rows(node) and not is_reshapable(source.meta["val"].shape)


def _best_order(low: Lowering, source: Node, dims: Sequence[int]) -> Order:
    """An existing order of the source with `dims` adjacent, else an order to transpose it to."""
    sizes = source.meta["val"].shape
    orders = [low.order_of(source), *low.orders_of(source), moved_last(dims, rank(source))]
    orders += [CHANNELS_LAST, plain(rank(source))]
    fitting = (order for order in orders if len(order) == rank(source) and parts_of(sizes, order, dims))
    return next(fitting)


def _mean(low: Lowering, node: Node) -> None:
    if _needs_product(node):
        _reduce_rows(low, node, 1 / low.shape(cast(Node, node.args[0]))[-1])
    else:
        _reduce(low, node, image_mean, 1.0)


def _sum(low: Lowering, node: Node) -> None:
    """For a static number of elements, the mean times that number: ExecuTorch 1.4's payload lacks a sum."""
    sizes = _reduced_sizes(node)
    if _needs_product(node):
        _reduce_rows(low, node, 1.0)
    elif is_static(sizes):
        _reduce(low, node, image_mean, float(torch.Size(sizes).numel()))
    else:
        _reduce(low, node, image_sum, 1.0)


class _Images(NamedTuple):
    """The operand of a reduction as images of one column. sizes: the largest of [N, H, C]."""

    value: g.ValueId
    sizes: list[int]
    order: Order
    as_they_are: bool

    def means(self) -> list[int]:
        before, _, after = self.sizes
        return [before, 1, 1, after]


def _read_images(low: Lowering, node: Node) -> _Images:
    source, dims = cast(Node, node.args[0]), reduced_dims(node)
    order = _best_order(low, source, dims)
    parts = parts_of(source.meta["val"].shape, order, dims)
    largest = parts_of(low.shape(source), order, dims)
    assert parts is not None and largest is not None
    value = low.read(source, order)
    before, reduced, after = (torch.Size(cast("list[int]", sizes)).numel() for sizes in largest)
    as_they_are = parts.are_images()
    if not as_they_are:
        value = low.reshaped(node, value, parts.as_images(), [before, reduced, 1, after])
    return _Images(value, [before, reduced, after], order, as_they_are)


def _keeps_dims(node: Node) -> bool:
    return bool(argument(node, 2, "keepdim", False))


def _write_means(low: Lowering, node: Node, means: g.ValueId, order: Order) -> None:
    """Reshape [N, 1, 1, C] to the result of the reduction."""
    result_order = order if _keeps_dims(node) else without(order, reduced_dims(node))
    sizes = arranged(node.meta["val"].shape, result_order)
    low.add(reshape(sizes, means, low.result(node, result_order)), node)


def _reduce(low: Lowering, node: Node, kind: Callable[[g.ValueId, g.ValueId], object], factor: float) -> None:
    """Reduce the elements as images with `kind`, then multiply by `factor`."""
    images = _read_images(low, node)
    if factor == 1 and _keeps_dims(node) and images.as_they_are:
        low.add(kind(images.value, low.result(node, images.order)), node)
        return
    value = low.step(node, kind, images.value, shape=images.means())
    if factor != 1:
        value = low.step(node, g.Multiply, value, low.scalar(node, factor), shape=images.means())
    _write_means(low, node, value, images.order)


def _reduce_rows(low: Lowering, node: Node, factor: float) -> None:
    rows = low.single(cast(Node, node.args[0]), plain(rank(node)))
    if node.meta["val"].dtype == torch.float32:
        row_product(low, node, rows, factor, low.result(node))
        return
    output = low.writer.value(torch.float32, low.shape(node))
    row_product(low, node, rows, factor, output)
    low.add(g.Convert(output, low.result(node)), node)


def _elements_and_correction(node: Node) -> tuple[int, float]:
    """Return the number of elements of each variance, 0 if it is dynamic, and the correction subtracted from it."""
    sizes = _reduced_sizes(node)
    given = node.kwargs.get("correction")
    return torch.Size(sizes).numel() if is_static(sizes) else 0, 1.0 if given is None else float(cast(float, given))


def _refuse_variance(node: Node, program: ExportedProgram) -> Rejection | None:
    elements, correction = _elements_and_correction(node)
    if elements <= correction:
        count = elements or "a dynamic number of"
        return Rejection(f"it is the variance of {count} elements with the correction {correction}")
    return _refuse(node, program)


def _variance(low: Lowering, node: Node) -> None:
    """mean((x - mean(x))²) · n / (n - correction), in float32."""
    elements, correction = _elements_and_correction(node)
    images = _read_images(low, node)
    before, reduced, after = images.sizes
    given: torch.dtype = node.meta["val"].dtype
    dtype = None if given == torch.float32 else torch.float32

    def step(kind: Callable[..., object], *operands: g.ValueId, shape: list[int]) -> g.ValueId:
        return low.step(node, kind, *operands, shape=shape, dtype=dtype)

    whole, means = [before, reduced, 1, after], images.means()
    x = images.value if dtype is None else step(g.Convert, images.value, shape=whole)
    centred = step(g.Subtract, x, step(image_mean, x, shape=means), shape=whole)
    value = step(image_mean, step(g.Square, centred, shape=whole), shape=means)
    factor = low.writer.constant(torch.tensor(elements / (elements - correction), dtype=torch.float32))
    value = step(g.Multiply, value, factor, shape=means) if correction else value
    _write_means(low, node, value if dtype is None else low.step(node, g.Convert, value, shape=means), images.order)


def without(order: Order, dims: Sequence[int]) -> Order:
    """`order` without the reduced dimensions, renumbered."""
    return tuple(dim - sum(gone < dim for gone in dims) for dim in order if dim not in dims)


_MAX_SUMMED = 4096
"""Elements of a cumulative sum."""


def _refuse_cumulative(node: Node, program: ExportedProgram) -> Rejection | None:
    source = cast(Node, node.args[0])
    size = source.meta["val"].shape[cast(int, node.args[1])] if rank(source) else 1
    if not isinstance(size, int) or not 1 < size <= _MAX_SUMMED:
        return Rejection(f"it sums {size} elements, expected a static number from 2 to {_MAX_SUMMED}")
    return None


def _cumulative(low: Lowering, node: Node) -> None:
    """Add the elements 1, 2, 4, … places before each: no element meets a zero factor, which would spread infinity."""
    source = cast(Node, node.args[0])
    order = low.order_of(source)
    value, bounds = low.read(source, order), low.shape(source, order)
    axis = place_of(cast(int, node.args[1]), order)
    size, shift = bounds[axis], 1
    sizes = fixed_sizes(arranged(source.meta["val"].shape, order))
    zeros = [0] * len(sizes)
    while shift < size:
        kept = [size - shift if place == axis else bound for place, bound in enumerate(bounds)]
        sizes[axis] = size - shift
        before = [shift if place == axis else 0 for place in range(len(sizes))]
        part = low.step(node, partial(g.StaticSlice, len(sizes), zeros, list(sizes)), value, shape=kept)
        moved = low.step(node, partial(g.StaticConstantPad, before, zeros, 0.0), part, shape=bounds)
        shift *= 2
        if shift < size:
            value = low.step(node, g.Add, value, moved, shape=bounds)
        else:
            low.add(g.Add(value, moved, low.result(node, order)), node)


RULES: dict[str, Rule] = {
    "cumsum.default": Rule(_cumulative, _refuse_cumulative),
    "mean.default": Rule(_mean, _refuse_mean, on_integers=if_alike, takes_empty=True),
    "mean.dim": Rule(_mean, _refuse_mean, on_integers=if_alike, takes_empty=True),
    "sum.dim_IntList": Rule(_sum, _refuse_sum, takes_empty=True, newer=_is_sum_node),
    "var.correction": Rule(_variance, _refuse_variance),
}
