# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Nodes and graphs of `gen_graphs_from_etrecord`, which viewers of models read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Node", "OperatorGraph", "OperatorNode", "ValueNode"]


@dataclass
class Node:
    """A value or a call. inputs: nodes whose results it takes. output_shapes: sizes of each tensor that it returns.

    metadata: debug_handle, stack_trace and nn_module_stack, where they are recorded. named_args: parameters of the
    operator, as its schema names them.
    """

    name: str
    inputs: list[Node] | None = None
    output_shapes: list[list[int]] | None = None
    metadata: dict[str, Any] | None = None
    named_args: list[str] | None = None


@dataclass
class ValueNode(Node):
    """An input, an output or a list of numbers. dtype: of each tensor. val: the numbers."""

    dtype: str | list[Any] = ""
    val: Any = None


@dataclass
class OperatorNode(Node):
    """A call of an operator, whose name is `op`."""

    op: str | None = None


@dataclass
class OperatorGraph:
    """Nodes and graphs in order. A program is a graph `base` with the graphs `inputs`, `forward` and `outputs`."""

    graph_name: str
    elements: list[Node | OperatorGraph]
    metadata: dict[str, Any] | None = None
