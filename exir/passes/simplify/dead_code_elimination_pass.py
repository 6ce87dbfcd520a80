# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Remove calls without readers and without side effects."""

from __future__ import annotations

import operator

from torch import fx
from torch._ops import HigherOrderOperator, OpOverload
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.dialects.executorch_prim_ops import PRIM_OF_PYTHON_FUNCTION
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import GraphPass


def has_effect(target: object) -> bool:
    """Return whether a call has side effects."""
    if isinstance(target, (OpOverload, EdgeOpOverload)):
        return bool(target._schema.is_mutable) or not target._schema.returns
    if isinstance(target, HigherOrderOperator):
        return False
    return target is not operator.getitem and target not in PRIM_OF_PYTHON_FUNCTION


class DeadCodeEliminationPass(GraphPass):
    """Removes dead calls in one sweep from the outputs up, which also removes chains of them."""

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for node in reversed(list(module.graph.nodes)):
                removable = node.op == "get_attr" or (node.op == "call_function" and not has_effect(node.target))
                if removable and not node.users:
                    module.graph.erase_node(node)
                    modified = True
        return PassResult(graph_module, modified)
