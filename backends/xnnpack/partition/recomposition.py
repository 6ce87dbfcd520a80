# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators that a program computes by several calls, and that XNNPACK computes as one node."""

from __future__ import annotations

from dataclasses import dataclass

from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.node import Argument

from executorch.backends.xnnpack.partition.recompose_gelu import gelu_of
from executorch.backends.xnnpack.partition.recompose_linear import linear_of
from executorch.exir.dialects._ops import EdgeOpOverload, ops
from executorch.exir.rewrite.node_rewrite import insert_before, replace_by
from executorch.exir.rewrite.program_copy import copy_program


@dataclass(frozen=True)
class Recomposition:
    """An operator that replaces calls. pieces: these calls in the order of the graph. origin: the call whose
    source lines and debug handle the operator inherits. The last piece gives the result.
    """

    operator: EdgeOpOverload
    operands: tuple[Argument, ...]
    pieces: tuple[Node, ...]
    origin: Node


class RecomposedOperators:
    """A program with recomposed operators.

    program: a copy with the operators recomposed; the given program if it has none to recompose. original_nodes: node
    of `program` → nodes of the given program.
    """

    def __init__(self, program: ExportedProgram) -> None:
        self._given = {node.name: node for node in program.graph.nodes}
        self._pieces: dict[Node, list[str]] = {}
        self.program = program
        if any(_recomposition(program, node) for node in program.graph.nodes):
            self.program = copy_program(program)
            for node in list(self.program.graph.nodes):
                if (recomposition := _recomposition(self.program, node)) is not None:
                    self._recompose(recomposition)

    def original_nodes(self, node: Node) -> list[Node]:
        """Return the original nodes that `node` replaces; the node itself if it replaces none."""
        return [self._given[name] for name in self._pieces.get(node, [node.name])]

    def _recompose(self, recomposition: Recomposition) -> None:
        *others, last = recomposition.pieces
        operator, operands = recomposition.operator, recomposition.operands
        one = insert_before(last, operator, operands, {}, last.meta["val"], recomposition.origin)
        self._pieces[one] = [piece.name for piece in recomposition.pieces]
        replace_by(last, one)
        for piece in reversed(others):
            if not piece.users:
                self.program.graph.erase_node(piece)


def _recomposition(program: ExportedProgram, node: Node) -> Recomposition | None:
    aten = ops.edge.aten
    if (layer := linear_of(program, node)) is not None:
        return Recomposition(aten.linear.default, layer.operands, layer.pieces, node)
    if (gelu := gelu_of(program, node)) is not None:
        return Recomposition(aten.gelu.default, (gelu.source,), gelu.pieces, node)
    return None
