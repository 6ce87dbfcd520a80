# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Give inputs of rank 0 a shape of one element, for backends without rank 0."""

from __future__ import annotations

from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.pass_base import ExportPass


class Rank0ToRank1Pass(ExportPass):
    """Sets the sizes of rank-0 inputs to (1, 1), without reinterpreting the graph."""

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        for node in graph_module.graph.find_nodes(op="placeholder"):
            if tuple(node.meta["val"].shape) == ():
                node.meta["val"] = node.meta["val"].reshape(1, 1)
        graph_module.recompile()
        return PassResult(graph_module, True)
