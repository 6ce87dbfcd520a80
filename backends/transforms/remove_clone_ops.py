# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Remove copies that change neither layout nor dtype."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.fx import Node
from torch.fx.passes.infra.pass_base import PassResult

from executorch.backends.transforms.dead_code import without_dead_code
from executorch.exir.dialects import dim_order_ops  # noqa: F401  (registers the operators)
from executorch.exir.dialects._ops import ops
from executorch.exir.pass_base import ExportPass
from executorch.exir.passes.simplify.remove_noop_pass import eliminate_dq_q
from executorch.exir.rewrite.node_rewrite import argument, replace_by

_edge: Any = ops.edge
_clone: Any = _edge.aten.clone.default
_clone_dim_order: Any = _edge.dim_order_ops._clone_dim_order.default


class RemoveCloneOpsTransform(ExportPass):
    """Removes `clone` and `_clone_dim_order` calls that keep the layout. Subclasses extend `clone_ops`.

    preserve_input_output_copies: keep a copy between an input and an output of the graph.
    eliminate_quant_dequant_pairs: also remove a dequantize → quantize pair that a removed copy separated.
    """

    clone_ops: set[Any] = {_clone, _clone_dim_order}

    def __init__(self, preserve_input_output_copies: bool = False, eliminate_quant_dequant_pairs: bool = True) -> None:
        super().__init__()
        self._preserve_input_output_copies = preserve_input_output_copies
        self._eliminate_quant_dequant_pairs = eliminate_quant_dequant_pairs

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        sources: list[Node] = []
        for node in list(graph_module.graph.nodes):
            if node.target in self.clone_ops and self._is_removable(node):
                sources.append(node.args[0])
                replace_by(node, node.args[0])
        if not sources:
            return PassResult(graph_module, False)
        if self._eliminate_quant_dequant_pairs:
            eliminate_dq_q(graph_module, sources)
        without_dead_code(graph_module)
        return PassResult(graph_module, True)

    def _is_removable(self, node: Node) -> bool:
        source: Any = node.args[0]
        between = source.op == "placeholder" and any(user.op == "output" for user in node.users)
        return not self._is_non_identity_clone(node) and not (between and self._preserve_input_output_copies)

    def _is_non_identity_clone(self, node: Node) -> bool:
        """Return whether a copy changes the layout."""
        source: Any = node.args[0]
        before, after = source.meta.get("val"), node.meta.get("val")
        if before is None:
            return False
        if node.target is _clone:
            memory_format = argument(node, "memory_format")
            if memory_format in (None, torch.preserve_format):
                return False
            return not before.is_contiguous(memory_format=memory_format)
        return node.target is _clone_dim_order and after is not None and after.dim_order() != before.dim_order()
