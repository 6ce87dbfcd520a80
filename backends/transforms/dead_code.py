# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The last step of a pass that changed a graph in place."""

from __future__ import annotations

from torch import fx


def without_dead_code(graph_module: fx.GraphModule) -> fx.GraphModule:
    """Erase nodes without users from the module's own graph, and generate its code again; return the module."""
    graph_module.graph.eliminate_dead_code()
    graph_module.recompile()
    return graph_module
