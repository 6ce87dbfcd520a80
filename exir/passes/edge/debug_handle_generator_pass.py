# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Debug handles: one number for each node of the exported program. The nodes it is lowered to inherit the number."""

from __future__ import annotations

from torch import fx
from torch.export import ExportedProgram
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.debug_handle_utils import DEBUG_HANDLE_KEY, root_source
from executorch.exir.graph_module import bfs_trace_with_node_process
from executorch.exir.pass_base import ExportPass


def source_of(node: fx.Node) -> object:
    """Return an identity of the node of the exported program that `node` comes from, or `node` if none is recorded."""
    root = root_source(node)
    return node if root is None else (getattr(root, "graph_id", None), getattr(root, "name", str(root)))


class DebugHandleGeneratorPass(ExportPass):
    """Numbers call nodes from 1 in graph order; nodes with the same source share a number.

    Existing numbers stay. A node that replaces several fused nodes has a tuple of their numbers.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        handles: dict[object, int] = {}
        taken = {0}
        unnumbered: list[fx.Node] = []

        def collect(node: fx.Node) -> None:
            handle = node.meta.get(DEBUG_HANDLE_KEY)
            if isinstance(handle, int):
                handles.setdefault(source_of(node), handle)
            elif handle is not None:
                taken.update(handle)
            elif node.op == "call_function":
                unnumbered.append(node)

        bfs_trace_with_node_process(graph_module, collect)
        following = max(taken.union(handles.values())) + 1
        for node in unnumbered:
            node.meta[DEBUG_HANDLE_KEY] = handles.setdefault(source_of(node), following)
            following = max(following, node.meta[DEBUG_HANDLE_KEY] + 1)
        return PassResult(graph_module, bool(unnumbered))


def generate_missing_debug_handles(ep: ExportedProgram) -> None:
    """Number the call nodes that lack a debug handle."""
    DebugHandleGeneratorPass()(ep.graph_module)
