# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Inputs without dimensions are described to a backend as inputs of one element."""

from __future__ import annotations

from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.pass_base import ExportPass


class Rank0ToRank1Pass(ExportPass):
    """Gives the values of inputs without dimensions the sizes (1, 1); calls are not interpreted again."""

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        for node in graph_module.graph.find_nodes(op="placeholder"):
            if tuple(node.meta["val"].shape) == ():
                node.meta["val"] = node.meta["val"].reshape(1, 1)
        graph_module.recompile()
        return PassResult(graph_module, True)
