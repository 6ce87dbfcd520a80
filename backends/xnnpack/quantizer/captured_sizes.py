# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A captured model that gets inputs of other sizes than it was captured for says what to do."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule

_GUARDS = "_guards_fn"
"""The module in which `ExportedProgram.module()` keeps its checks of inputs."""


class SizesChanged(ValueError):
    """Inputs have other sizes than those for which the model was captured, which the message names."""


class _Explained(torch.nn.Module):
    _is_impure = True  # torch.fx: to be called though nothing reads a result

    def __init__(self, guards: torch.nn.Module) -> None:
        super().__init__()
        self.guards = guards

    def forward(self, *inputs: Any) -> Any:
        try:
            return self.guards(*inputs)
        except AssertionError as error:
            shapes = ", ".join(str(list(each.shape)) for each in inputs if isinstance(each, torch.Tensor))
            raise SizesChanged(
                f"{error}, found inputs of {shapes}: the model was captured for other sizes. Calibrate, train and run "
                "it with inputs as at torch.export.export, or give that dynamic_shapes for sizes that vary"
            ) from error


def explain_sizes(model: GraphModule) -> None:
    """Checks the inputs of a captured model again, with the explanation: torchao's prepare drops the checks."""
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
