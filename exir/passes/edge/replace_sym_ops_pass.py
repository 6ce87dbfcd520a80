# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace Python arithmetic on sizes (`operator.add` on a SymInt) by the runtime's prim ops."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.dialects.executorch_prim_ops import PRIM_OF_PYTHON_FUNCTION
from executorch.exir.error import ExportError
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import GraphPass

_SQUARE_ROOTS = (math.sqrt, torch.sym_sqrt)


class ReplaceSymOpsPass(GraphPass):
    """Replaces functions on sizes by `executorch_prim` operators. Raises `ExportError` for a function without one."""

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for node in list(module.graph.nodes):
                if node.op != "call_function":
                    continue
                if node.target in (torch.ops.aten.sym_size.default, torch.ops.aten.sym_stride.default):
                    raise ExportError("replace size operators", node, "sizes must be taken one dimension at a time")
                if node.target is torch.sym_sum:
                    modified = _chain_of_additions(node) or modified
                elif node.target in _SQUARE_ROOTS:
                    modified = _power_of_a_half(node)
                elif node.target in PRIM_OF_PYTHON_FUNCTION:
                    node.target = PRIM_OF_PYTHON_FUNCTION[node.target]
                    modified = True
                elif getattr(node.target, "__module__", "") in ("math", "torch.utils._sympy.functions"):
                    raise ExportError("replace size operators", node, "the runtime has no operator for this function")
        return PassResult(graph_module, modified)


def _power_of_a_half(node: fx.Node) -> bool:
    node.target = PRIM_OF_PYTHON_FUNCTION[operator.pow]
    with node.graph.inserting_before(node):
        as_float = node.graph.call_function(PRIM_OF_PYTHON_FUNCTION[torch.sym_float], node.args)
    operand: Any = node.args[0]
    as_float.meta["val"] = torch.sym_float(operand.meta["val"])
    node.args = (as_float, 0.5)
    return True


def _chain_of_additions(node: fx.Node) -> bool:
    add = PRIM_OF_PYTHON_FUNCTION[operator.add]
    parts: Any = node.args[0]
    total, *rest = parts
    for item in rest:
        with node.graph.inserting_before(node):
            values: list[Any] = [part.meta["val"] if isinstance(part, fx.Node) else part for part in (total, item)]
            total = node.graph.call_function(add, (total, item))
        total.meta["val"] = values[0] + values[1]
    node.replace_all_uses_with(total)
    node.graph.erase_node(node)
    return True
