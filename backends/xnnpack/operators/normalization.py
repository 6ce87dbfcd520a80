# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Layer norm, group norm and (log-)softmax. Half-precision norms are computed in float32, as eager does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import (
    getitems_of,
    is_constant,
    is_reshapable,
    is_static,
    operator_of,
    rank,
)
from executorch.backends.xnnpack.lowering.layout import moved_last
from executorch.backends.xnnpack.lowering.lowering import Lowering
from executorch.backends.xnnpack.operators.reduction import image_mean, row_product
from executorch.backends.xnnpack.operators.rule import FLOATS, Rule, refusal_of_reshape, refusal_of_tensor
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.error import Rejection

_LAYER_NORM, _GROUP_NORM = "aten.native_layer_norm.default", "aten.native_group_norm.default"
_SIZE = "aten.sym_size.int"


class _Rows:
    """Emits nodes on the rows of a value, in float32.

    sizes: of the value, whose last `dims` dimensions are a row. bounds: their upper bounds.
    """

    def __init__(self, low: Lowering, node: Node, sizes: Sequence[object], bounds: Sequence[int], dims: int) -> None:
        self._low, self._node = low, node
        self._bounds = list(bounds)
        self._length = torch.Size(bounds[-dims:]).numel()
        self._count = torch.Size(bounds[:-dims]).numel()
        # Sizes and bounds of a value with one element a row.
        self._reduced_sizes = [*sizes[:-dims], *[1] * dims]
        self._reduced_bounds = [*bounds[:-dims], *[1] * dims]
        self._is_reshapable = is_reshapable(sizes)

    def step(self, kind: type, *operands: g.ValueId) -> g.ValueId:
        """Add a node whose result has the rows' shape."""
        return self._low.step(self._node, kind, *operands, shape=self._bounds, dtype=torch.float32)

    def step_per_row(self, kind: type, *operands: g.ValueId) -> g.ValueId:
        """Add a node whose result has one element a row."""
        return self._low.step(self._node, kind, *operands, shape=self._reduced_bounds, dtype=torch.float32)

    def scalar(self, value: float) -> g.ValueId:
        return self._low.writer.constant(torch.tensor(value))

    def mean(self, value: g.ValueId) -> g.ValueId:
        """Emit the mean of each row, broadcastable to the row."""
        if not self._is_reshapable:
            means = self._low.writer.value(torch.float32, self._reduced_bounds)
            row_product(self._low, self._node, value, 1 / self._length, means)
            return means
        images = self._as(value, [None, self._length, 1, 1], [self._count, self._length, 1, 1])
        return self._spread(self._means(image_mean, images))

    def maximum(self, value: g.ValueId) -> g.ValueId:
        """Emit the maximum of each row: a max-pool with a window as wide as the row."""
        images = self._as(value, [None, 1, self._length, 1], [self._count, 1, self._length, 1])
        length = self._length

        def pool(source: g.ValueId, output: g.ValueId) -> object:
            return g.MaxPooling2d(0, 0, 0, 0, 1, length, 1, length, 1, 1, source, output)

        return self._spread(self._means(pool, images))

    def normalized(self, value: g.ValueId, epsilon: float) -> g.ValueId:
        """Emit (x - mean) / √(variance + epsilon)."""
        centered = self.step(g.Subtract, value, self.mean(value))
        variance = self.mean(self.step(g.Square, centered))
        scale = self.step_per_row(g.ReciprocalSquareRoot, self.step_per_row(g.Add, variance, self.scalar(epsilon)))
        return self.step(g.Multiply, centered, scale)

    def _means(self, kind: object, images: g.ValueId) -> g.ValueId:
        shape = [self._count, 1, 1, 1]
        return self._low.step(self._node, kind, images, shape=shape, dtype=torch.float32)  # type: ignore[arg-type]

    def _spread(self, means: g.ValueId) -> g.ValueId:
        return self._as(means, self._reduced_sizes, self._reduced_bounds)

    def _as(self, value: g.ValueId, sizes: Sequence[object], bounds: Sequence[int]) -> g.ValueId:
        return self._low.reshaped(self._node, value, sizes, bounds, torch.float32)


def _finish(low: Lowering, node: Node, target: Node, value: g.ValueId, affine: list[tuple[type, torch.Tensor]]) -> None:
    """Apply binary nodes with constants (scale, bias) to a float32 value and write `target`."""
    shape = low.shape(target)
    is_half = target.meta["val"].dtype != torch.float32
    for place, (kind, operand) in enumerate(affine):
        is_last = place == len(affine) - 1 and not is_half
        output = low.result(target) if is_last else low.writer.value(torch.float32, shape)
        low.add(kind(value, low.writer.constant(operand.float()), output), node)
        value = output
    if is_half or not affine:
        low.add((g.Convert if is_half else g.Copy)(value, low.result(target)), node)


def _affine(low: Lowering, weight: object, bias: object, shape: Sequence[int]) -> list[tuple[type, torch.Tensor]]:
    steps: list[tuple[type, torch.Tensor]] = []
    for kind, operand in ((g.Multiply, weight), (g.Add, bias)):
        if isinstance(operand, Node):
            tensor = low.constant(operand)
            assert tensor is not None
            steps.append((kind, tensor.reshape(tuple(shape))))
    return steps


def _refuse_norm(
    node: Node, program: ExportedProgram, weights: tuple[int, int], sizes: Sequence[object]
) -> Rejection | None:
    operands = [node.args[place] for place in weights]
    if any(isinstance(operand, Node) and not is_constant(program, operand) for operand in operands):
        return Rejection("its weight or bias is computed, expected a constant")
    if any(user.users for place, user in getitems_of(node).items() if place != 0):
        return Rejection("its statistics are used")
    normalizes_rows = operator_of(node) == _LAYER_NORM and len(sizes) == 1
    rejection = refusal_of_reshape(cast(Node, node.args[0]).meta["val"].shape)
    if rejection is not None and not normalizes_rows:
        return rejection
    return None if is_static(sizes) else Rejection("the sizes it normalizes over are dynamic")


def _refuse_layer_norm(node: Node, program: ExportedProgram) -> Rejection | None:
    return _refuse_norm(node, program, (2, 3), cast("list[object]", node.args[1]))


def _layer_norm(low: Lowering, node: Node) -> None:
    source, shape = cast(Node, node.args[0]), cast("list[int]", node.args[1])
    target = getitems_of(node)[0]
    rows = _Rows(low, node, source.meta["val"].shape, low.shape(source), len(shape))
    value = rows.normalized(low.single(source), cast(float, node.args[4]))
    _finish(low, node, target, value, _affine(low, node.args[2], node.args[3], shape))


def is_own_batch(size: Node) -> bool:
    """Return whether a node is the batch size of a group norm's operand, and only that group norm reads it."""
    if operator_of(size) != _SIZE or len(size.users) != 1:
        return False
    (norm,) = size.users
    return operator_of(norm) == _GROUP_NORM and norm.args[0] is size.args[0] and cast(int, size.args[1]) == 0


def _refuse_size(node: Node, program: ExportedProgram) -> Rejection | None:
    (source,) = node.all_input_nodes
    if not is_own_batch(node):
        return Rejection("it is a size that is computed at run time")
    return refusal_of_tensor(source, FLOATS) or _refuse_group_norm(next(iter(node.users)), program)


def _refuse_group_norm(node: Node, program: ExportedProgram) -> Rejection | None:
    if isinstance(node.args[3], Node) and not is_own_batch(node.args[3]):
        return Rejection("its batch is computed, expected that of its operand")
    return _refuse_norm(node, program, (1, 2), cast(Node, node.args[0]).meta["val"].shape[1:])


def _group_norm(low: Lowering, node: Node) -> None:
    source, groups = cast(Node, node.args[0]), cast(int, node.args[6])
    sizes, bounds = source.meta["val"].shape, low.shape(source)
    length = torch.Size(bounds[1:]).numel() // groups
    matrix = [None, length], [bounds[0] * groups, length]
    value = low.reshaped(node, low.single(source), *matrix, torch.float32)
    value = _Rows(low, node, *matrix, 1).normalized(value, cast(float, node.args[7]))
    value = low.reshaped(node, value, sizes, bounds, torch.float32)
    channels = [bounds[1], *[1] * (rank(source) - 2)]
    _finish(low, node, getitems_of(node)[0], value, _affine(low, node.args[1], node.args[2], channels))


def _refuse_instances(node: Node, program: ExportedProgram) -> Rejection | None:
    shape = cast(Node, node.args[0]).meta["val"].shape
    if len(shape) < 3 or shape[0] != 1:
        return Rejection("it computes statistics over a batch of more than one")
    if node.args[1] is None and node.args[2] is None:
        shape = shape[2:]
    return _refuse_norm(node, program, (1, 2), shape)


def _instances(low: Lowering, node: Node) -> None:
    """Emit an instance norm, which is the batch norm with the statistics of a batch of one."""
    source = cast(Node, node.args[0])
    bounds = low.shape(source)
    rows = _Rows(low, node, source.meta["val"].shape, bounds, rank(source) - 2)
    value = rows.normalized(low.single(source), cast(float, node.args[5]))
    channels = [bounds[1], *[1] * (rank(source) - 2)]
    _finish(low, node, getitems_of(node)[0], value, _affine(low, node.args[1], node.args[2], channels))


def _refuse_softmax(node: Node, program: ExportedProgram) -> Rejection | None:
    if rank(cast(Node, node.args[0])) == 0:
        return Rejection("its operand has no dimensions")
    return Rejection("half_to_float is set") if node.args[2] else None


def _softmax(low: Lowering, node: Node) -> None:
    source = cast(Node, node.args[0])
    dim = cast(int, node.args[1]) % rank(source)
    free_orders = [order for order in low.orders_of(source) if order[-1] == dim]
    order = free_orders[0] if free_orders else moved_last([dim], rank(source))
    low.add(g.Softmax(low.read(source, order), low.result(node, order)), node)


def _refuse_log_softmax(node: Node, program: ExportedProgram) -> Rejection | None:
    source = cast(Node, node.args[0])
    rejection = _refuse_softmax(node, program)
    if rejection is not None:
        return rejection
    size = source.meta["val"].shape[cast(int, node.args[1])]
    if not isinstance(size, int) or size == 1:
        return Rejection(f"it is over {size} elements, expected a static size above 1")
    return refusal_of_reshape(source.meta["val"].shape)


def _log_softmax(low: Lowering, node: Node) -> None:
    """Emit x - max - log Σ exp(x - max); the sum is the mean times the number of elements."""
    source = cast(Node, node.args[0])
    order = moved_last([cast(int, node.args[1])], rank(source))
    bounds = low.shape(source, order)
    rows = _Rows(low, node, [source.meta["val"].shape[dim] for dim in order], bounds, 1)
    value = low.single(source, order)
    below = rows.step(g.Subtract, value, rows.maximum(value))
    mean = rows.mean(rows.step(g.Exp, below))
    log = rows.step_per_row(g.Log, rows.step_per_row(g.Multiply, mean, rows.scalar(float(bounds[-1]))))
    if node.meta["val"].dtype == torch.float32:
        low.add(g.Subtract(below, log, low.result(node, order)), node)
    else:
        low.add(g.Convert(rows.step(g.Subtract, below, log), low.result(node, order)), node)


RULES: dict[str, Rule] = {
    "native_layer_norm.default": Rule(_layer_norm, _refuse_layer_norm),
    "native_group_norm.default": Rule(_group_norm, _refuse_group_norm, sizes=True),
    "sym_size.int": Rule(lambda low, node: None, _refuse_size, any_tensors=True),
    "_native_batch_norm_legit.no_stats": Rule(_instances, _refuse_instances),
    "_softmax.default": Rule(_softmax, _refuse_softmax),
    "_log_softmax.default": Rule(_log_softmax, _refuse_log_softmax),
}
