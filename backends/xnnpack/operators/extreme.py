# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Maxima and minima over any dimensions, reshaped to a max-pool with a window as large as the image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import argument, getitems_of, is_static, rank
from executorch.backends.xnnpack.lowering.layout import Order, arranged
from executorch.backends.xnnpack.lowering.lowering import Lowering, reshape
from executorch.backends.xnnpack.operators.reduction import Parts, parts_of, reduced_dims, without
from executorch.backends.xnnpack.operators.rule import Rule, refusal_of_reshape
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.error import Rejection

_MAX_CHANNELS = 512


def _values(node: Node) -> Node:
    """Return the node of the extreme values: the call, or the first result of a call that gives indices too."""
    return node if isinstance(node.meta["val"], torch.Tensor) else getitems_of(node)[0]


def _dims(node: Node) -> list[int]:
    dim = argument(node, 1, "dim")
    return [dim % rank(cast(Node, node.args[0]))] if isinstance(dim, int) else reduced_dims(node)


def _refuse_with_indices(node: Node, program: ExportedProgram) -> Rejection | None:
    results = getitems_of(node)
    if 1 in results and results[1].users:
        return Rejection("its indices are used")
    return _refuse(node, program) if 0 in results else Rejection("its values are not used")


def _refuse(node: Node, program: ExportedProgram) -> Rejection | None:
    source = cast(Node, node.args[0])
    if rank(source) == 0:
        return Rejection("its operand has rank 0")
    reduced = [source.meta["val"].shape[dim] for dim in _dims(node)]
    if not is_static(reduced):
        return Rejection("a size that it reduces is dynamic")
    if torch.Size(reduced).numel() < 2:
        return Rejection("its window has a single element")
    return refusal_of_reshape(_values(node).meta["val"].shape)


def _refuse_any(node: Node, program: ExportedProgram) -> Rejection | None:
    if cast(Node, node.args[0]).meta["val"].dtype != torch.bool:
        return Rejection("it takes numbers for booleans")
    return _refuse(node, program)


def _order(low: Lowering, source: Node, dims: list[int]) -> Order:
    """An existing order of the source with `dims` adjacent before others, which the pooling treats as channels; else
    an order to transpose it to."""
    sizes = source.meta["val"].shape
    for order in (low.order_of(source), *low.orders_of(source)):
        parts = parts_of(sizes, order, dims)
        if parts and parts.after:
            return order
    others = [dim for dim in range(rank(source)) if dim not in dims]
    return (*others[:-1], *dims, *others[-1:])


def _largest(low: Lowering, node: Node) -> None:
    _extreme(low, node, opposite=False)


def _smallest(low: Lowering, node: Node) -> None:
    _extreme(low, node, opposite=True)


def _extreme(low: Lowering, node: Node, opposite: bool) -> None:
    """The minimum is the negated maximum of the negated operand. Booleans are compared as 0 and 1."""
    source, dims, keep = cast(Node, node.args[0]), _dims(node), bool(argument(node, 2, "keepdim", False))
    result = _values(node)
    order = _order(low, source, dims)
    parts, bounds = parts_of(source.meta["val"].shape, order, dims), parts_of(low.shape(source), order, dims)
    assert parts is not None and bounds is not None
    value, shape = low.read(source, order), low.shape(source, order)
    dtype: torch.dtype = result.meta["val"].dtype
    if dtype == torch.bool:
        dtype = torch.float32
        one, zero = (low.writer.constant(torch.tensor(number)) for number in (1.0, 0.0))
        value = low.step(node, g.Select, value, one, zero, shape=shape, dtype=dtype)
    if opposite:
        value = low.step(node, g.Negate, value, shape=shape)
    for window in _windows(parts, bounds):
        if window.sizes is not None:
            value = low.reshaped(node, value, window.sizes, window.bounds, dtype)
        value = _pooled(low, node, value, window, dtype)
        shape = window.pooled
    if opposite:
        value = low.step(node, g.Negate, value, shape=shape)
    if result.meta["val"].dtype == torch.bool:
        zero = low.writer.constant(torch.tensor(0.0))
        value = low.step(node, g.NotEqual, value, zero, shape=shape)
    result_order = order if keep else without(order, dims)
    low.add(reshape(arranged(result.meta["val"].shape, result_order), value, low.result(result, result_order)), node)


@dataclass(frozen=True)
class _Window:
    """A max-pool with a window as large as its images.

    sizes: of the images, None for a dynamic one; None if the value has them already. bounds: upper bounds of the sizes.
    """

    sizes: list[object] | None
    bounds: list[int]

    @property
    def pooled(self) -> list[int]:
        return [self.bounds[0], 1, 1, self.bounds[3]]


def _windows(parts: Parts, bounds: Parts) -> list[_Window]:
    """Return the windows in order; each pools the results of the one before.

    XNNPACK computes a vector of channels at once: one channel of 1,000,000 elements takes 20 times as long as 500. Many
    elements of one channel are therefore first pooled in a number of channels that divides their number.
    """
    before, reduced, after = (torch.Size(cast("list[int]", bound)).numel() for bound in bounds)
    sizes = parts.as_images()
    if after == 1 and reduced > _MAX_CHANNELS:
        channels = next(count for count in range(_MAX_CHANNELS, 0, -1) if reduced % count == 0)
        if channels > 1:
            images = ([reduced // channels, 1, channels], [channels, 1, 1])
            return [_Window([sizes[0], *image], [before, *image]) for image in images]
    if parts.are_images():
        return [_Window(None, [before, *cast("list[int]", bounds.reduced), after])]
    return [_Window(sizes, [before, reduced, 1, after])]


def _pooled(low: Lowering, node: Node, value: g.ValueId, window: _Window, dtype: torch.dtype) -> g.ValueId:
    maximum = low.writer.value(dtype, window.pooled)
    kernel = window.bounds[1:3]
    low.add(g.MaxPooling2d(0, 0, 0, 0, *kernel, *kernel, 1, 1, value, maximum), node)
    return maximum


RULES: dict[str, Rule] = {
    "amax.default": Rule(_largest, _refuse),
    "amin.default": Rule(_smallest, _refuse),
    **{f"any.{name}": Rule(_largest, _refuse_any, booleans=True) for name in ("default", "dim", "dims")},
    "max.default": Rule(_largest, _refuse),
    "min.default": Rule(_smallest, _refuse),
    "max.dim": Rule(_largest, _refuse_with_indices),
    "min.dim": Rule(_smallest, _refuse_with_indices),
}
