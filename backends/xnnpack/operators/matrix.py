# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Products of matrices."""

from __future__ import annotations

from typing import cast

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import constant_tensor, rank
from executorch.backends.xnnpack.lowering.layout import Order, plain
from executorch.backends.xnnpack.lowering.lowering import Lowering
from executorch.backends.xnnpack.operators.rule import Rule
from executorch.backends.xnnpack.serialization import xnnpack_graph as g

_TRANSPOSED = 1  # XNNPACK's flag: the right operand has its rows where its columns would be


def _refuse_linear(node: Node, program: ExportedProgram) -> str | None:
    source, weight = cast(Node, node.args[0]), cast(Node, node.args[1])
    computed = [operand for operand in node.args[1:3] if operand and constant_tensor(program, operand) is None]
    return "it is a product of two computed vectors" if computed and min(rank(source), rank(weight)) < 2 else None


def _linear(low: Lowering, node: Node) -> None:
    source, weight = cast(Node, node.args[0]), cast(Node, node.args[1])
    bias = cast("Node | None", node.args[2] if len(node.args) > 2 else None)
    if all(each is None or low.constant(each) is not None for each in (weight, bias)):
        operands = low.read(source), low.read(weight), g.INVALID_ID if bias is None else low.read(bias)
        low.add(g.FullyConnected(*operands, low.result(node)), node)
        return
    # XNNPACK packs a layer's weights once: computed ones are an operand of a product, which sets no limits itself.
    made = low.step(node, _transposed_product, low.read(source), low.read(weight), shape=low.shape(node))
    last = g.Clamp(made, low.result(node)) if bias is None else g.Add(made, low.read(bias), low.result(node))
    low.add(last, node)


def _transposed_product(left: int, right: int, made: int) -> object:
    return g.BatchMatrixMultiply(left, right, made, _TRANSPOSED)


def _refuse_addmm(node: Node, program: ExportedProgram) -> str | None:
    if node.kwargs.get("alpha", 1) != 1 or node.kwargs.get("beta", 1) != 1:
        return "alpha or beta is not 1"
    bias, weight = (constant_tensor(program, node.args[place]) for place in (0, 2))
    if bias is None or weight is None:
        return "its weight or bias is not constant"
    return None if bias.dim() == 1 and bias.shape[0] == weight.shape[1] else "its bias is not one number a column"


def _addmm(low: Lowering, node: Node) -> None:
    bias, source, weight = (cast(Node, argument) for argument in node.args[:3])
    tensor = low.constant(weight)
    assert tensor is not None
    operands = low.read(source), low.writer.constant(tensor.t()), low.read(bias)
    low.add(g.FullyConnected(*operands, low.result(node)), node)


def _refuse_product(node: Node, program: ExportedProgram) -> str | None:
    ranks = [rank(cast(Node, operand)) for operand in node.args[:2]]
    return None if min(ranks) > 1 else f"its operands have {ranks[0]} and {ranks[1]} dimensions, expected at least 2"


def _product(low: Lowering, node: Node) -> None:
    """A matrix of constants, which is packed once, or batches that are broadcast."""
    left, right = cast(Node, node.args[0]), cast(Node, node.args[1])
    weight = low.constant(right)
    if weight is not None and weight.dim() == 2:
        filters = low.writer.constant(weight.t())
        low.add(g.FullyConnected(low.read(left), filters, g.INVALID_ID, low.result(node)), node)
        return
    order = _right_order(low, right)
    flags = 0 if order == plain(len(order)) else _TRANSPOSED
    operands = low.read(left), low.read(right, order)
    low.add(g.BatchMatrixMultiply(*operands, low.result(node), flags), node)


def _right_order(low: Lowering, right: Node) -> Order:
    """As the program has it, or with rows and columns exchanged: in which it is there, or whose rows stay together."""
    size = rank(right)
    straight: Order = plain(size)
    exchanged = (*range(size - 2), size - 1, size - 2)
    there = low.orders_of(right)
    if straight in there or not there:
        return straight
    return exchanged if exchanged in there or there[0][-1] == size - 2 else straight


RULES: dict[str, Rule] = {
    "linear.default": Rule(_linear, _refuse_linear, fuses_activation=True),
    "addmm.default": Rule(_addmm, _refuse_addmm, fuses_activation=True),
    "bmm.default": Rule(_product),
    "mm.default": Rule(_product),
    "matmul.default": Rule(_product, _refuse_product),
}
