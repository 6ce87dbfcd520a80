# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Visualize programs: a page with the graph, and graphs for Google's Model Explorer."""

from executorch.devtools.view.model_explorer import visualize_with_clusters
from executorch.devtools.view.visualize import (
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
