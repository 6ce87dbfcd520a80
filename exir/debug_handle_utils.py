# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Node metadata that identify the source of a lowered node in the exported program."""

from __future__ import annotations

from torch.fx import Node
from torch.fx.traceback import NodeSource, NodeSourceAction

FROM_NODE_KEY = "from_node"
DEBUG_HANDLE_KEY = "debug_handle"
UNSET_DEBUG_HANDLE = 0  # debug handle of nodes without a number


def node_source(node: Node, pass_name: str) -> NodeSource:
    """Return torch's record that a pass made a node from `node`.

    It shares the entries of the node's history. The constructor would copy all of them, for each new node.
    """
    source = NodeSource(None, pass_name, NodeSourceAction.CREATE)
    source.node_info = NodeSource.NodeInfo(node.name, str(node.target), id(node.graph))
    source.from_node = node.meta.get(FROM_NODE_KEY, [])
    return source


def root_source(node: Node) -> NodeSource | None:
    """Return the oldest entry of a node's history (a torch `NodeSource`), or None for a node without history."""
    sources = node.meta.get(FROM_NODE_KEY)
    if not sources:
        return None
    root: NodeSource = sources[-1] if isinstance(sources, list) else sources
    while getattr(root, FROM_NODE_KEY, None):
        root = root.from_node[-1]
    return root


def get_greatest_ancestor_node_identifier(node: Node) -> str:
    """Return `name.graph_id` of the node of the exported program that `node` comes from.

    Raises KeyError for a node without history.
    """
    root = root_source(node)
    if root is None:
        raise KeyError(f"node '{node.name}': metadata '{FROM_NODE_KEY}' is missing")
    return f"{root.name}.{root.graph_id}"
