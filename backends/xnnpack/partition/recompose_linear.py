# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Recompose linear layers with constant weights that `to_edge` decomposed before partitioning.

addmm(bias, x, permute(w))              → linear(x, w, bias); w is a constant or a dequantized constant
view(addmm(bias, view(x), permute(w)))  → linear(x, w, bias); x has more than two dimensions
"""

from __future__ import annotations

from typing import Any

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import constant_tensor, operator_of
from executorch.backends.xnnpack.lowering.quantization import weights_of
from executorch.exir.dialects._ops import ops
from executorch.exir.rewrite.node_rewrite import insert_before, replace_by
from executorch.exir.rewrite.program_copy import copy_program


class RecomposedLinears:
    """A program with recomposed linear layers.

    program: a copy with the layers recomposed; the given program if it has none to recompose. original_nodes: node of
    `program` → nodes of the given program.
    """

    def __init__(self, program: ExportedProgram) -> None:
        self._given = {node.name: node for node in program.graph.nodes}
        self._pieces: dict[Node, list[str]] = {}
        self.program = program
        if any(_is_decomposed(program, node) for node in program.graph.nodes):
            self.program = copy_program(program)
            self._recompose()

    def original_nodes(self, node: Node) -> list[Node]:
        return [self._given[name] for name in self._pieces.get(node, [node.name])]

    def _recompose(self) -> None:
        graph = self.program.graph
        for node in list(graph.nodes):
            if not _is_decomposed(self.program, node):
                continue
            bias, source, transposed = _operands(node)
            last, whole = _with_all_dimensions(node, source)
            weight = transposed.args[0]
            operands = (whole, weight) if bias is None else (whole, weight, bias)
            layer = insert_before(last, ops.edge.aten.linear.default, operands, {}, last.meta["val"], node)
            between = [] if last is node else [source, last]
            self._pieces[layer] = [piece.name for piece in (transposed, *between[:1], node, *between[1:])]
            replace_by(last, layer)
            for piece in (node, transposed, between[0]) if between else (transposed,):
                if not piece.users:
                    graph.erase_node(piece)


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
    """Result and operand of a layer outside the views that flatten them to two dimensions; unchanged without views."""
    users = list(node.users)
    views = [user for user in (source, *users) if operator_of(user) == "aten.view_copy.default"]
    if len(users) != 1 or len(views) != 2 or len(source.users) != 1:
        return node, source
    whole: Any = source.args[0]
    fits = [str(size) for size in whole.meta["val"].shape[:-1]] == [
        str(size) for size in users[0].meta["val"].shape[:-1]
    ]
    return (users[0], whole) if fits else (node, source)
