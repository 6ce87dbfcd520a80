# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Warn when a captured model runs with inputs of other sizes than it was captured for."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch.fx import GraphModule

_GUARDS = "_guards_fn"
"""The module in which `ExportedProgram.module()` keeps its checks of inputs."""


class SizesChanged(UserWarning):
    """Input sizes differ from those of the capture; the message names both."""


class _WarningGuards(torch.nn.Module):
    _is_impure = True  # torch.fx must keep the call although its result is unused

    def __init__(self, guards: torch.nn.Module) -> None:
        super().__init__()
        self.guards = guards

    def forward(self, *inputs: Any) -> Any:
        if torch.compiler.is_exporting():
            return None  # an export may have other or dynamic sizes, as in ExecuTorch 1.4
        try:
            self.guards(*inputs)
        except AssertionError as error:
            shapes = ", ".join(str(list(tensor.shape)) for tensor in inputs if isinstance(tensor, torch.Tensor))
            warnings.warn(
                f"{error}, found inputs of {shapes}: the model was captured for other sizes, which are constants of its"
                " graph where it reads them. If it computes with its sizes, capture it with dynamic_shapes",
                SizesChanged,
                stacklevel=2,
            )
        return None


def warn_of_other_sizes(model: GraphModule) -> None:
    """Re-add the input checks, which torchao's prepare removes, as warnings."""
    guards = getattr(model, _GUARDS, None)
    if not isinstance(guards, torch.nn.Module) or isinstance(guards, _WarningGuards):
        return
    setattr(model, _GUARDS, _WarningGuards(guards))
    for node in model.graph.find_nodes(op="call_module", target=_GUARDS):
        model.graph.erase_node(node)
    inputs = model.graph.find_nodes(op="placeholder")
    following = inputs[-1].next if inputs else next(iter(model.graph.nodes))
    with model.graph.inserting_before(following):
        model.graph.call_module(_GUARDS, tuple(inputs))
