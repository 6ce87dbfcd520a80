# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""PartitionError: the tags on a graph do not describe something that can be delegated."""

from __future__ import annotations

from torch.fx import Node

from executorch.exir.error import ExportError, operator_name, source_line

__all__ = ["PartitionError", "node_and_source"]


class PartitionError(ExportError, RuntimeError):
    """An invalid partition: the message names it, the nodes at fault and the fault."""

    def __init__(self, why: str) -> None:
        super().__init__("partition", None, why)


def node_and_source(node: Node) -> str:
    """`name (operator) from file:line`: enough to find a node in the graph and in the user's source."""
    what = operator_name(node.target) if node.op == "call_function" else node.op
    source = source_line(node)
    return f"{node.name} ({what})" + (f" from {source}" if source else "")
