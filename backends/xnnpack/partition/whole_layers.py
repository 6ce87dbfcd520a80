# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Linear layers of constant weights in one piece again, where `to_edge` took them apart before a partitioner saw them.

addmm(bias, x, permute(w))                linear(x, w, bias); w is a constant, or a constant dequantized
view(addmm(bias, view(x), permute(w)))    the same, of x with more dimensions
"""

from __future__ import annotations

from typing import Any

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import constant_tensor, operator_of
from executorch.backends.xnnpack.lowering.quantization import weights_of
from executorch.exir.backend.delegate.program_copy import copy_program
from executorch.exir.dialects._ops import ops
from executorch.exir.rewrite.node_rewrite import insert_before, replace_by


class WholeLayers:
    """A program with its linear layers in one piece: a copy, if it has any in pieces, else itself.

    program: the one to look at. pieces_of: a node of it → the nodes of the program that was given.
    """

    def __init__(self, program: ExportedProgram) -> None:
        self._given = {node.name: node for node in program.graph.nodes}
        self._pieces: dict[Node, list[str]] = {}
        self.program = program
        if any(_is_in_pieces(program, node) for node in program.graph.nodes):
            self.program = copy_program(program)
            self._restore()

    def pieces_of(self, node: Node) -> list[Node]:
        return [self._given[name] for name in self._pieces.get(node, [node.name])]

    def _restore(self) -> None:
        graph = self.program.graph
        for node in list(graph.nodes):
            if not _is_in_pieces(self.program, node):
                continue
            bias, source, turned = _operands(node)
            last, whole = _with_all_dimensions(node, source)
            weight = turned.args[0]
            operands = (whole, weight) if bias is None else (whole, weight, bias)
            layer = insert_before(last, ops.edge.aten.linear.default, operands, {}, last.meta["val"], node)
            between = [] if last is node else [source, last]
            self._pieces[layer] = [each.name for each in (turned, *between[:1], node, *between[1:])]
            replace_by(last, layer)
            for each in (node, turned, between[0]) if between else (turned,):
                if not each.users:
                    graph.erase_node(each)


def _operands(node: Node) -> tuple[Any, Any, Any]:
    """Bias or None, operand, weights."""
    return node.args if len(node.args) == 3 else (None, *node.args)  # type: ignore[return-value]


def _is_in_pieces(program: ExportedProgram, node: Node) -> bool:
    if operator_of(node) not in ("aten.addmm.default", "aten.mm.default") or node.kwargs:
        return False
    bias, _, turned = _operands(node)
    if not isinstance(turned, Node) or operator_of(turned) != "aten.permute_copy.default" or len(turned.users) > 1:
        return False
    is_row = bias is None or bias.meta["val"].dim() == 1
    return is_row and list(turned.args[1]) == [1, 0] and _is_weight(program, turned.args[0])  # type: ignore[arg-type]


def _is_weight(program: ExportedProgram, node: object) -> bool:
    return weights_of(program, node) is not None or constant_tensor(program, node) is not None


def _with_all_dimensions(node: Node, source: Node) -> tuple[Node, Node]:
    """The result and the operand of a layer, before views made two dimensions of them, or as they are."""
    users = list(node.users)
    views = [each for each in (source, *users) if operator_of(each) == "aten.view_copy.default"]
    if len(users) != 1 or len(views) != 2 or len(source.users) != 1:
        return node, source
    whole: Any = source.args[0]
    fits = [str(size) for size in whole.meta["val"].shape[:-1]] == [
        str(size) for size in users[0].meta["val"].shape[:-1]
    ]
    return (users[0], whole) if fits else (node, source)
