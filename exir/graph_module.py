# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Walking graph modules together with the graphs that their control flow holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch._ops import HigherOrderOperator
from torch.fx import GraphModule, Node


def _called_graphs(graph_module: GraphModule, node: Node) -> Iterator[tuple[str, GraphModule]]:
    for arg in node.args:
        if isinstance(arg, Node) and arg.op == "get_attr":
            held = getattr(graph_module, str(arg.target), None)
            if isinstance(held, GraphModule):
                yield str(arg.target), held


def get_control_flow_submodules(graph_module: GraphModule) -> list[tuple[str, GraphModule, Node]]:
    """(attribute name, graph, calling node) of each graph that a cond, map, while or scan of `graph_module` runs."""
    return [
        (name, held, node)
        for node in graph_module.graph.nodes
        if node.op == "call_function" and isinstance(node.target, HigherOrderOperator)
        for name, held in _called_graphs(graph_module, node)
    ]


def get_cond_while_submodules(graph_module: GraphModule) -> list[tuple[str, GraphModule, Node]]:
    """Return `get_control_flow_submodules` of cond and while_loop alone."""
    operators = (torch.ops.higher_order.cond, torch.ops.higher_order.while_loop)
    return [entry for entry in get_control_flow_submodules(graph_module) if entry[2].target in operators]


def get_scan_submodules(graph_module: GraphModule) -> list[tuple[str, GraphModule, Node]]:
    """Return `get_control_flow_submodules` of scan alone."""
    scan = torch.ops.higher_order.scan
    return [entry for entry in get_control_flow_submodules(graph_module) if entry[2].target is scan]


def all_graph_modules(graph_module: GraphModule) -> Iterator[GraphModule]:
    """`graph_module`, then every graph below it that its control flow runs, each once, outermost first."""
    seen: set[int] = set()
    waiting = [graph_module]
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += [held for _, held, _ in get_control_flow_submodules(current)]


def debug_handles_of(node: Node) -> tuple[int, ...]:
    """A node's debug handles: several of one that others were fused to, none if it has not got any."""
    handle = node.meta.get("debug_handle")
    return () if handle is None else (handle,) if isinstance(handle, int) else tuple(handle)


def bfs_trace_with_node_process(graph_module: GraphModule, node_op: Callable[[Node], None]) -> None:
    """Calls `node_op` with every node of `graph_module` and of the graphs that its control flow runs."""
    for held in all_graph_modules(graph_module):
        for node in list(held.graph.nodes):
            node_op(node)


def copy_graph_module(graph_module: GraphModule) -> GraphModule:
    """A copy whose graphs can be rewritten freely; tensors, lowered modules and node metadata values are shared."""
    from torch.fx import Graph

    graph = Graph()
    graph._codegen = graph_module.graph._codegen
    mapped: dict[Node, Node] = {}
    for node in graph_module.graph.nodes:
        mapped[node] = graph.node_copy(node, lambda argument: mapped[argument])
        mapped[node].name = node.name  # also where a fresh graph would avoid the name: signatures refer to it
    copied = GraphModule(graph_module, graph)
    for name, held, _ in get_control_flow_submodules(graph_module):
        setattr(copied, name, copy_graph_module(held))
    copied.meta.update(graph_module.meta)
    return copied
