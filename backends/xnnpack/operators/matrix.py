# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Products of matrices."""

from __future__ import annotations

from typing import cast

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import constant_tensor
from executorch.backends.xnnpack.lowering.lowering import Lowering
from executorch.backends.xnnpack.operators.rule import Rule
from executorch.backends.xnnpack.serialization import xnnpack_graph as g


def _refuse_linear(node: Node, program: ExportedProgram) -> str | None:
    # XNNPACK packs weights once.
    for what, operand in zip(("weight", "bias"), node.args[1:3], strict=False):
        if operand is not None and constant_tensor(program, operand) is None:
            return f"its {what} is not constant"
    return None


def _linear(low: Lowering, node: Node) -> None:
    source, weight = cast(Node, node.args[0]), cast(Node, node.args[1])
    bias = cast("Node | None", node.args[2] if len(node.args) > 2 else None)
    operands = low.read(source), low.read(weight), g.INVALID_ID if bias is None else low.read(bias)
    low.add(g.FullyConnected(*operands, low.result(node)), node)


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


def _batch(low: Lowering, node: Node) -> None:
    left, right = cast(Node, node.args[0]), cast(Node, node.args[1])
    operands = low.read(left), low.read(right)
    low.add(g.BatchMatrixMultiply(*operands, low.result(node)), node)


RULES: dict[str, Rule] = {
    "linear.default": Rule(_linear, _refuse_linear, fuses_activation=True),
    "addmm.default": Rule(_addmm, _refuse_addmm, fuses_activation=True),
    "bmm.default": Rule(_batch),
    "mm.default": Rule(_batch),
}
