# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Conversion of exported programs to an `OperatorGraph`."""

from __future__ import annotations

import operator
from collections.abc import Iterator

import torch
from torch import fx
from torch.export import ExportedProgram

from executorch.devtools.debug_format.base_schema import Node, OperatorGraph, OperatorNode, ValueNode
from executorch.exir.debug_handle_utils import DEBUG_HANDLE_KEY

_KEPT_METADATA = (DEBUG_HANDLE_KEY, "stack_trace", "nn_module_stack")


def operator_graph(program: ExportedProgram) -> OperatorGraph:
    """Convert the main graph of a program. A node that selects one result of a call is that call."""
    nodes: dict[fx.Node, Node] = {}
    inputs: list[Node | OperatorGraph] = []
    forward: list[Node | OperatorGraph] = []
    outputs: list[Node | OperatorGraph] = []
    for node in program.graph.nodes:
        if node.op == "placeholder":
            nodes[node] = _value(node, [])
            inputs.append(nodes[node])
        elif node.op == "output":
            outputs.append(_value(node, [nodes[source] for source in node.all_input_nodes if source in nodes]))
        elif node.target is operator.getitem and node.args[0] in nodes:
            nodes[node] = nodes[node.args[0]]
        elif node.op == "call_function":
            forward.extend(_call(node, nodes, len(forward)))
    parts = (("inputs", inputs), ("forward", forward), ("outputs", outputs))
    return OperatorGraph("base", [OperatorGraph(name, elements) for name, elements in parts])


def operator_nodes(graph: OperatorGraph) -> Iterator[OperatorNode]:
    """Yield the calls of a graph and of its nested graphs."""
    for element in graph.elements:
        if isinstance(element, OperatorGraph):
            yield from operator_nodes(element)
        elif isinstance(element, OperatorNode):
            yield element


def _call(node: fx.Node, nodes: dict[fx.Node, Node], index: int) -> list[Node]:
    """Return the node of a call, after nodes of the lists of numbers that it takes."""
    schema = getattr(node.target, "_schema", None)
    names = [argument.name for argument in schema.arguments] if schema is not None else None
    taken: list[Node] = []
    lists: list[Node] = []
    for position, value in enumerate(node.args):
        if isinstance(value, (list, tuple)) and value and all(isinstance(number, (int, float)) for number in value):
            name = names[position] if names is not None and position < len(names) else "list"
            lists.append(ValueNode(f"{name}_{index + len(lists)}", val=list(value)))
            taken.append(lists[-1])
        else:
            sources: list[fx.Node] = []
            fx.map_arg(value, sources.append)
            taken.extend(nodes[source] for source in sources if source in nodes)
    nodes[node] = OperatorNode(
        node.name,
        taken,
        [list(tensor.shape) for tensor in _tensors(node)],
        {key: node.meta[key] for key in _KEPT_METADATA if key in node.meta},
        names,
        str(node.target),
    )
    return [*lists, nodes[node]]


def _value(node: fx.Node, inputs: list[Node]) -> ValueNode:
    tensors = _tensors(node) or [tensor for source in node.all_input_nodes for tensor in _tensors(source)]
    return ValueNode(
        node.name, inputs, [list(tensor.shape) for tensor in tensors], {}, None, [tensor.dtype for tensor in tensors]
    )


def _tensors(node: fx.Node) -> list[torch.Tensor]:
    value = node.meta.get("val")
    values = value if isinstance(value, (list, tuple)) else [value]
    return [value for value in values if isinstance(value, torch.Tensor)]
