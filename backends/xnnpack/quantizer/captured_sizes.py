# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Check input sizes of a captured model, with an error message that explains how to fix a mismatch."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule

_GUARDS = "_guards_fn"
"""The module in which `ExportedProgram.module()` keeps its checks of inputs."""


class SizesChanged(ValueError):
    """Input sizes differ from those of the capture; the message names both."""


class _Explained(torch.nn.Module):
    _is_impure = True  # torch.fx must keep the call although its result is unused

    def __init__(self, guards: torch.nn.Module) -> None:
        super().__init__()
        self.guards = guards

    def forward(self, *inputs: Any) -> Any:
        if torch.compiler.is_exporting():
            return None  # an export may have other or dynamic sizes, as in ExecuTorch 1.4
        try:
            return self.guards(*inputs)
        except AssertionError as error:
            shapes = ", ".join(str(list(tensor.shape)) for tensor in inputs if isinstance(tensor, torch.Tensor))
            raise SizesChanged(
                f"{error}, found inputs of {shapes}: the model was captured for other sizes. Calibrate, train and run "
                "it with inputs of the same sizes as at torch.export.export, or pass it dynamic_shapes"
            ) from error


def explain_sizes(model: GraphModule) -> None:
    """Re-add the input checks, which torchao's prepare removes, with an explaining message."""
    guards = getattr(model, _GUARDS, None)
    if not isinstance(guards, torch.nn.Module) or isinstance(guards, _Explained):
        return
    setattr(model, _GUARDS, _Explained(guards))
    for node in model.graph.find_nodes(op="call_module", target=_GUARDS):
        model.graph.erase_node(node)
    inputs = model.graph.find_nodes(op="placeholder")
    following = inputs[-1].next if inputs else next(iter(model.graph.nodes))
    with model.graph.inserting_before(following):
        model.graph.call_module(_GUARDS, tuple(inputs))
