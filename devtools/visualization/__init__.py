# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Visualize programs: a page with the graph, and graphs for Google's Model Explorer."""

from executorch.devtools.visualization.model_explorer_graph import visualize_with_clusters
from executorch.devtools.visualization.page import (
    ModelExplorerServer,
    SingletonModelExplorerServer,
    visualize,
    visualize_graph,
)

__all__ = [
    "ModelExplorerServer",
    "SingletonModelExplorerServer",
    "visualize",
    "visualize_graph",
    "visualize_with_clusters",
]
