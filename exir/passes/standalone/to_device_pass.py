# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented pass that moves a graph module to a device; nothing inside the project imports it."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import GraphPass


class ToDevicePass(GraphPass):
    """Moves the module's tensors to `device`, and sets it as the `device` argument of calls that have one."""

    def __init__(self, device: str | torch.device) -> None:
        super().__init__()
        self.device = torch.device(device)

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        moved: Any = graph_module.to(self.device)
        for module in all_graph_modules(moved):
            for node in module.graph.nodes:
                if node.op == "call_function" and "device" in node.kwargs:
                    node.update_kwarg("device", self.device)
        return PassResult(moved, True)
