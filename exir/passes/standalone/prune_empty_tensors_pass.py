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
                    modified |= _prune(module, node)
        if modified:
            graph_module.graph.eliminate_dead_code()
        return PassResult(graph_module, modified)


def _prune(graph_module: GraphModule, node: Node) -> bool:
    operands: Any = node.args[0]
    kept = [operand for operand in operands if guard_or_true(operand.meta["val"].numel() != 0)]
    if len(kept) == len(operands):
        return False
    if kept:
        node.update_arg(0, kept)
        return True
    value = node.meta["val"]
    with graph_module.graph.inserting_after(node):
        full = graph_module.graph.call_function(_FULL[node.target], (list(value.shape), 0), {"dtype": value.dtype})
    full.meta = dict(node.meta)
    node.replace_all_uses_with(full)
    graph_module.graph.erase_node(node)
    return True
