# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace views that add or remove sizes of 1 by `unsqueeze_copy` or `squeeze_copy`, for backends that support
these.
"""

from __future__ import annotations

from typing import Any

from torch import fx
from torch.fx import Node
from torch.fx.passes.infra.pass_base import PassResult

from executorch.backends.transforms.permutes.permute_pass_utils import extra_unit_dim
from executorch.exir.dialects._ops import ops
from executorch.exir.pass_base import ExportPass
from executorch.exir.rewrite.node_rewrite import retarget

_aten: Any = ops.edge.aten


class ViewCopyToSqueezeUnsqueezePass(ExportPass):
    """Replaces views that remove any number of sizes of 1, and views that add one."""

    def __init__(self) -> None:
        super().__init__()
        self.view_copy_op = _aten.view_copy.default
        self.squeeze_op = _aten.squeeze_copy.dims
        self.unsqueeze_op = _aten.unsqueeze_copy.default

    def find_squeeze_dims(self, input_shape: list[Any], view_shape: list[Any]) -> list[int] | None:
        """The dimensions of size 1 that the view removes; None for any other view."""
        removed = []
        position = 0
        for dim, size in enumerate(input_shape):
            if position < len(view_shape) and size == view_shape[position]:
                position += 1
            elif size == 1:
                removed.append(dim)
            else:
                return None
        return removed if removed and position == len(view_shape) else None

    def find_unsqueeze_dim(self, input_shape: list[Any], view_shape: list[Any]) -> int | None:
        """The position at which the view adds a size of 1; None for any other view."""
        return extra_unit_dim(view_shape, input_shape)

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        views = graph_module.graph.find_nodes(op="call_function", target=self.view_copy_op)
        replaced = [self._replace(view) for view in views]
        if not any(replaced):
            return PassResult(graph_module, False)
        graph_module.recompile()
        return super().call(graph_module)

    def _replace(self, view: Node) -> bool:
        source: Any = view.args[0]
        before, after = list(source.meta["val"].shape), list(view.meta["val"].shape)
        removed, added = self.find_squeeze_dims(before, after), self.find_unsqueeze_dim(before, after)
        if removed is not None:
            retarget(view, self.squeeze_op, (source, removed))
        elif added is not None:
            retarget(view, self.unsqueeze_op, (source, added))
        return removed is not None or added is not None
