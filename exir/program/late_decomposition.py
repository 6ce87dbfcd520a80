# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompose single calls of an edge program: operators preserved for a backend that then rejected them."""

from __future__ import annotations

from collections.abc import Collection

from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram

from executorch.exir.capture import EdgeCompileConfig
from executorch.exir.decompose.call_body import aten_operator, inline_body, traced_body
from executorch.exir.decompose.decomposition import decomposition_table
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.pass_base import fake_mode_of
from executorch.exir.program.pipeline import steps_to_edge


def calls_of(program: ExportedProgram, operators: Collection[OpOverload]) -> list[tuple[fx.GraphModule, fx.Node]]:
    """Return every call of one of `operators` (edge or not), with the graph module that it is in."""
    calls = []
    for module in all_graph_modules(program.graph_module):
        for node in module.graph.nodes:
            if node.op == "call_function" and aten_operator(node) in operators:
                calls.append((module, node))
    return calls


def decompose_calls(
    program: ExportedProgram, calls: Collection[tuple[fx.GraphModule, fx.Node]], config: EdgeCompileConfig
) -> None:
    """Replace each call by its decomposition to Core ATen, in the edge dialect, in place."""
    if not calls:
        return
    table = decomposition_table(unroll_recurrent=config.unroll_recurrent)
    for graph_module, node in calls:
        mode = fake_mode_of(graph_module)
        inline_body(graph_module, node, traced_body(node, table, mode), mode)
    for step in steps_to_edge(config):
        step(program)
    program.graph_module.recompile()
