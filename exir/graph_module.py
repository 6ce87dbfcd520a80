# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Traversal of graph modules and the subgraphs of their control flow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._ops import HigherOrderOperator
from torch.fx import Graph, GraphModule, Node


def _called_graphs(graph_module: GraphModule, node: Node) -> Iterator[tuple[str, GraphModule]]:
    for arg in node.args:
        if isinstance(arg, Node) and arg.op == "get_attr":
            module = getattr(graph_module, str(arg.target), None)
            if isinstance(module, GraphModule):
                yield str(arg.target), module


def get_control_flow_submodules(graph_module: GraphModule) -> list[tuple[str, GraphModule, Node]]:
    """Return (attribute name, subgraph, calling node) of each subgraph of cond, map, while_loop and scan."""
    return [
        (name, module, node)
        for node in graph_module.graph.nodes
        if node.op == "call_function" and isinstance(node.target, HigherOrderOperator)
        for name, module in _called_graphs(graph_module, node)
    ]


def get_cond_while_submodules(graph_module: GraphModule) -> list[tuple[str, GraphModule, Node]]:
    """Return `get_control_flow_submodules` of cond and while_loop only."""
    operators = (torch.ops.higher_order.cond, torch.ops.higher_order.while_loop)
    return [entry for entry in get_control_flow_submodules(graph_module) if entry[2].target in operators]


def get_scan_submodules(graph_module: GraphModule) -> list[tuple[str, GraphModule, Node]]:
    """Return `get_control_flow_submodules` of scan only."""
    scan = torch.ops.higher_order.scan
    return [entry for entry in get_control_flow_submodules(graph_module) if entry[2].target is scan]


def all_graph_modules(graph_module: GraphModule) -> Iterator[GraphModule]:
    """Yield `graph_module` and the subgraphs of its control flow, each once, outermost first."""
    seen: set[int] = set()
    waiting = [graph_module]
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += [module for _, module, _ in get_control_flow_submodules(current)]


def debug_handles_of(node: Node) -> tuple[int, ...]:
    """Return a node's debug handles: several for a fusion of several nodes, none if it lacks one."""
    handle = node.meta.get("debug_handle")
    return () if handle is None else (handle,) if isinstance(handle, int) else tuple(handle)


def bfs_trace_with_node_process(gm: GraphModule, node_op: Callable[[Node], None]) -> None:
    """Call `node_op` with every node of `gm` and the subgraphs of its control flow."""
    for module in all_graph_modules(gm):
        for node in list(module.graph.nodes):
            node_op(node)


def copy_graph_module(graph_module: GraphModule) -> GraphModule:
    """Copy a module with its graphs. Tensors, lowered modules and values of node metadata are shared.

    The code of the copied graphs is generated when it is first read or called: most copies are only rewritten.
    """
    graph = Graph()
    graph._codegen = graph_module.graph._codegen
    mapped: dict[Node, Node] = {}
    for node in graph_module.graph.nodes:
        mapped[node] = graph.node_copy(node, lambda argument: mapped[argument])
        if mapped[node].name != node.name:  # a fresh graph avoids names such as "input", to which signatures refer
            mapped[node].name = node.name  # slow: the graph sorts the node into its tables again
    copied = _module_without_code(graph_module, graph)
    for name, module, _ in get_control_flow_submodules(graph_module):
        setattr(copied, name, copy_graph_module(module))
    copied.meta.update(graph_module.meta)
    return copied


class _CodeOfFirstRead:
    """Stands for the code of a module, in the module's own class, until the code is generated."""

    def __get__(self, module: GraphModule, owner: type[GraphModule]) -> str:
        module.recompile()
        return str(vars(module)["_code"])


def _forward_of_first_call(module: GraphModule, *args: object, **kwargs: object) -> object:
    module.recompile()
    return module.forward(*args, **kwargs)


def _module_without_code(root: GraphModule, graph: Graph) -> GraphModule:
    """Return a module of `graph` with the attributes of `root` that it reads."""
    attributes = Graph()
    for node in graph.find_nodes(op="get_attr"):
        attributes.get_attr(str(node.target))
    module = GraphModule(root, attributes)
    module._graph = graph
    graph.owning_module = module
    own_class: Any = type(module)  # torch makes one for each graph module
    own_class.forward, own_class._code = _forward_of_first_call, _CodeOfFirstRead()
    del module._code
    return module
