# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented pass that removes empty tensors from concatenations; nothing inside the project imports it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.experimental.symbolic_shapes import guard_or_true
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.dialects._ops import ops
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import GraphPass

_cat, _full = torch.ops.aten.cat.default, torch.ops.aten.full.default
# `cat` → the operator that replaces it if all operands are empty.
_FULL: dict[object, Callable[..., object]] = {_cat: _full, ops.edge.aten.cat.default: ops.edge.aten.full.default}


class PruneEmptyTensorsPass(GraphPass):
    """Removes operands of `cat` that have no elements; a `cat` without other operands becomes `full`."""

    def call(self, graph_module: GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for node in list(module.graph.nodes):
                if node.op == "call_function" and node.target in _FULL:
                    operands = node.args[0]
                    self.remove_empty_tensors_from_cat(module, node)
                    modified |= node.args[0] != operands or not node.users
            module.graph.eliminate_dead_code()
        return PassResult(graph_module, modified)

    def remove_empty_tensors_from_cat(self, graph_module: GraphModule, cat_node: Node) -> None:
        """Remove the empty operands of a `cat`. If all are empty, its readers read a `full` instead."""
        operands: Any = cat_node.args[0]
        kept = [operand for operand in operands if guard_or_true(operand.meta["val"].numel() != 0)]
        if kept:
            cat_node.update_arg(0, kept)
            return
        value = cat_node.meta["val"]
        with graph_module.graph.inserting_after(cat_node):
            full = graph_module.graph.call_function(
                _FULL[cat_node.target], (list(value.shape), 0), {"dtype": value.dtype}
            )
        full.meta = dict(cat_node.meta)
        cat_node.replace_all_uses_with(full)
