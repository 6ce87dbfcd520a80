# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Merge the views in a chain of elementwise operators into one view before them."""

from __future__ import annotations

from typing import Any

from torch import fx
from torch.fx import Node
from torch.fx.passes.infra.pass_base import PassResult

from executorch.backends.transforms.dead_code import without_dead_code
from executorch.exir.dialects import dim_order_ops  # noqa: F401  (registers the operators)
from executorch.exir.dialects._ops import ops
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.pass_base import ExportPass

_edge: Any = ops.edge
_UNARY = (
    "abs alias_copy ceil clamp clone exp floor gelu log neg reciprocal relu round rsqrt sigmoid sign silu sqrt tanh "
    "_to_copy"
)


class FuseViewCopyTransform(ExportPass):
    """Rewrites view(a) → abs → view(b) → sqrt → view(c) to view(c) → abs → sqrt, if each value has one reader."""

    VIEW_OP: EdgeOpOverload = _edge.aten.view_copy.default
    UNARY_ELEMENTWISE_OPS: tuple[EdgeOpOverload, ...] = (
        *(getattr(_edge.aten, name).default for name in _UNARY.split()),
        _edge.dim_order_ops._clone_dim_order.default,
        _edge.dim_order_ops._to_dim_order_copy.default,
        _edge.quantized_decomposed.quantize_per_tensor.default,
        _edge.quantized_decomposed.dequantize_per_tensor.default,
    )

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for view in graph_module.graph.find_nodes(op="call_function", target=self.VIEW_OP):
            later = self._later_views(view) if view.users else []
            if later:
                view.args = (view.args[0], later[-1].args[1])
                for later_view in later:
                    later_view.replace_all_uses_with(later_view.args[0])  # type: ignore[arg-type]
                    graph_module.graph.erase_node(later_view)
                modified = True
        if not modified:
            return PassResult(graph_module, False)
        return super().call(without_dead_code(graph_module))

    def _later_views(self, view: Node) -> list[Node]:
        """The views after `view`, following single readers that are elementwise operators or views."""
        views: list[Node] = []
        node = view
        while len(node.users) == 1:
            node = next(iter(node.users))
            if node.target is self.VIEW_OP:
                views.append(node)
            elif node.target not in self.UNARY_ELEMENTWISE_OPS:
                break
        return views
