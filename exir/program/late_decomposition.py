# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decomposes single calls of an edge program: operators kept whole for a backend that then did not take them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import map_arg

from executorch.exir.capture import EdgeCompileConfig
from executorch.exir.dialects._ops import EdgeOpOverload
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.pass_base import fake_mode_of
from executorch.exir.passes.node_rewrite import origin_of
from executorch.exir.program.decomposition import decomposition_table
from executorch.exir.program.pipeline import steps_to_edge


def calls_of(program: ExportedProgram, operators: Collection[OpOverload]) -> list[tuple[fx.GraphModule, fx.Node]]:
    """Every call of one of `operators` (edge or not), with the graph module that it is in."""
    found = []
    for held in all_graph_modules(program.graph_module):
        for node in held.graph.nodes:
            op = node.target._op if isinstance(node.target, EdgeOpOverload) else node.target
            if node.op == "call_function" and op in operators:
                found.append((held, node))
    return found


def decompose_calls(
    program: ExportedProgram, calls: Collection[tuple[fx.GraphModule, fx.Node]], config: EdgeCompileConfig
) -> None:
    """Replaces each call by its decomposition to Core ATen, in the edge dialect, in place."""
    if not calls:
        return
    table = dict(decomposition_table().items())
    for graph_module, node in calls:
        _inline(graph_module, node, _traced(graph_module, node, table))
    for step in steps_to_edge(config):
        step(program)
    program.graph_module.recompile()


def _traced(graph_module: fx.GraphModule, node: fx.Node, table: dict[Any, Any]) -> fx.GraphModule:
    """A graph that computes what `node` does from its input nodes, in their order."""
    inputs = node.all_input_nodes
    op: Any = node.target._op if isinstance(node.target, EdgeOpOverload) else node.target
    decomposition = table.get(op, op)

    def compute(*values: Any) -> Any:
        given = dict(zip(inputs, values, strict=True))
        return decomposition(*map_arg(node.args, given.__getitem__), **map_arg(node.kwargs, given.__getitem__))

    with fake_mode_of(graph_module), torch.no_grad():
        traced: fx.GraphModule = make_fx(compute, decomposition_table=table)(*(held.meta["val"] for held in inputs))
    return traced


def _inline(graph_module: fx.GraphModule, node: fx.Node, body: fx.GraphModule) -> None:
    """Puts the nodes of `body` in the place of `node`."""
    placeholders = [held for held in body.graph.nodes if held.op == "placeholder"]
    mapped: dict[fx.Node, fx.Node] = dict(zip(placeholders, node.all_input_nodes, strict=True))
    result: Any = None
    with graph_module.graph.inserting_before(node):
        for held in body.graph.nodes:
            if held.op == "output":
                result = map_arg(held.args[0], mapped.__getitem__)
            elif held.op != "placeholder":
                mapped[held] = _copied(graph_module, node, body, held, mapped)
    if isinstance(result, fx.Node):
        node.replace_all_uses_with(result)
    else:
        for user in list(node.users):
            user.replace_all_uses_with(result[user.args[1]])
            graph_module.graph.erase_node(user)
    graph_module.graph.erase_node(node)


def _copied(
    graph_module: fx.GraphModule, node: fx.Node, body: fx.GraphModule, held: fx.Node, mapped: dict[fx.Node, fx.Node]
) -> fx.Node:
    copied = graph_module.graph.node_copy(held, mapped.__getitem__)
    if held.op == "get_attr":
        name = f"_decomposed_{copied.name}"
        graph_module.register_buffer(name, getattr(body, str(held.target)))
        copied.target = name
        copied.meta["val"] = fake_mode_of(graph_module).from_tensor(getattr(body, str(held.target)), static_shapes=True)
    copied.meta = {**origin_of(node), "val": copied.meta["val"]}
    return copied
