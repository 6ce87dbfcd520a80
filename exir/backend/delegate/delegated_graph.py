# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Queries on a delegated graph: its delegates, the operators outside of them, and both as text."""

from __future__ import annotations

import operator

from torch.fx import Graph, GraphModule, Node

from executorch.exir.delegate import executorch_call_delegate
from executorch.exir.lowered_backend_module import LoweredBackendModule, get_lowered_submodules
from executorch.exir.schema import CompileSpec

__all__ = [
    "format_delegated_graph",
    "get_delegated_payload",
    "get_delegates",
    "get_non_lowered_nodes",
    "print_delegated_graph",
]


def get_delegates(graph: Graph) -> list[Node]:
    """Return the `get_attr` nodes that name lowered modules, in graph order."""
    return [
        node
        for node in graph.find_nodes(op="get_attr", sort=True)
        if any(user.target is executorch_call_delegate for user in node.users)
    ]


def get_non_lowered_nodes(graph: Graph) -> list[Node]:
    """Return the calls outside of delegates, without the calls of delegates and the getitems of their results."""
    return [
        node
        for node in graph.nodes
        if node.op == "call_function"
        and node.target is not executorch_call_delegate
        and not _takes_delegate_result(node)
    ]


def get_delegated_payload(graph_module: GraphModule) -> dict[str, tuple[str, list[CompileSpec], bytes]]:
    """Return name of each lowered module → (backend id, compile specs, payload)."""
    return {
        name: (module.backend_id, module.compile_specs, module.processed_bytes)
        for name, module, _ in get_lowered_submodules(graph_module)
    }


def format_delegated_graph(graph_module: GraphModule) -> str:
    """Return the graph as text, with the backend and the original graph below each lowered module."""
    return "\n".join(["graph():", *_lines(graph_module, "  ")]) + "\n"


def print_delegated_graph(graph_module: GraphModule) -> None:
    """Print `format_delegated_graph(graph_module)`."""
    print(format_delegated_graph(graph_module))


def _lines(graph_module: GraphModule, indent: str) -> list[str]:
    lines = []
    for node in graph_module.graph.nodes:
        lines.append(f"{indent}{node.format_node()}")
        module = getattr(graph_module, str(node.target), None) if node.op == "get_attr" else None
        if isinstance(module, LoweredBackendModule):
            lines.append(f"{indent}  backend_id: {module.backend_id}")
            lines.append(f"{indent}  lowered graph():")
            lines += _lines(module.original_module.graph_module, indent + "    ")
    return lines


def _takes_delegate_result(node: Node) -> bool:
    source = node.args[0] if node.target is operator.getitem else None
    return isinstance(source, Node) and source.target is executorch_call_delegate
