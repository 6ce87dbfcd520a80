# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Recompose linear layers with constant weights that `to_edge` decomposed before partitioning.

addmm(bias, x, permute(w))              → linear(x, w, bias); w is a constant or a dequantized constant
view(addmm(bias, view(x), permute(w)))  → linear(x, w, bias); x has more than two dimensions
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import constant_tensor, operator_of
from executorch.backends.xnnpack.lowering.quantization import weights_of


@dataclass(frozen=True)
class DecomposedLinear:
    """A linear layer. operands: source, weights and, if it has one, bias. pieces: its calls in the graph's order."""

    operands: tuple[Node, ...]
    pieces: tuple[Node, ...]


def linear_of(program: ExportedProgram, node: Node) -> DecomposedLinear | None:
    """Return the layer whose product `node` computes; None for any other node."""
    if not _is_decomposed(program, node):
        return None
    bias, source, transposed = _operands(node)
    last, whole = _with_all_dimensions(node, source)
    weight = transposed.args[0]
    operands = (whole, weight) if bias is None else (whole, weight, bias)
    pieces = (transposed, node) if last is node else (transposed, source, node, last)
    return DecomposedLinear(operands, pieces)


def _operands(node: Node) -> tuple[Any, Any, Any]:
    """Return (bias or None, operand, transposed weights) of an addmm or mm."""
    return node.args if len(node.args) == 3 else (None, *node.args)  # type: ignore[return-value]


def _is_decomposed(program: ExportedProgram, node: Node) -> bool:
    if operator_of(node) not in ("aten.addmm.default", "aten.mm.default") or node.kwargs:
        return False
    bias, _, transposed = _operands(node)
    if (
        not isinstance(transposed, Node)
        or operator_of(transposed) != "aten.permute_copy.default"
        or len(transposed.users) > 1
    ):
        return False
    is_row = bias is None or bias.meta["val"].dim() == 1
    return is_row and list(transposed.args[1]) == [1, 0] and _is_weight(program, transposed.args[0])  # type: ignore[arg-type]


def _is_weight(program: ExportedProgram, node: object) -> bool:
    return weights_of(program, node) is not None or constant_tensor(program, node) is not None


def _with_all_dimensions(node: Node, source: Node) -> tuple[Node, Node]:
    """Return result and operand of a layer outside the views that flatten them to two dimensions.

    Without such views, return `node` and `source`.
    """
    users = list(node.users)
    views = [user for user in (source, *users) if operator_of(user) == "aten.view_copy.default"]
    if len(users) != 1 or len(views) != 2 or len(source.users) != 1:
        return node, source
    whole: Any = source.args[0]
    fits = [str(size) for size in whole.meta["val"].shape[:-1]] == [
        str(size) for size in users[0].meta["val"].shape[:-1]
    ]
    return (users[0], whole) if fits else (node, source)
