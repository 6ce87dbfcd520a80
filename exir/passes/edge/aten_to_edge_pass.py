# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace ATen operators by edge operators, and rename the nodes accordingly."""

from __future__ import annotations

import re

import torch
from torch import fx
from torch._ops import OpOverload
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.dialects._ops import edge_op
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import HookedGraphPass

# Operators that return sizes, not tensors: they are the same in every dialect.
SIZE_OPERATORS = (
    torch.ops.aten.sym_size.int,
    torch.ops.aten.sym_numel.default,
    torch.ops.aten.sym_stride.int,
    torch.ops.aten.sym_storage_offset.default,
)


def _node_name(operator: str) -> str:
    """Return the name that fx gives to a call: `aten.sum.dim_IntList` becomes `aten_sum_dim_int_list`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operator.replace(".", "_")).lower()


class AtenToEdgePass(HookedGraphPass):
    """Wraps the target of every operator call; a node `add_3` becomes `aten_add_tensor_3`."""

    def rewrite_graphs(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for node in module.graph.nodes:
                if isinstance(node.target, OpOverload) and node.target not in SIZE_OPERATORS:
                    node.target = edge_op(node.target)
                    node._rename(_node_name(str(node.target)))
                    modified = True
        return PassResult(graph_module, modified)
