# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Remove assertions and range hints from the graph: only the exporter needs them. The runtime checks its inputs."""

from __future__ import annotations

import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import GraphPass

_aten = torch.ops.aten

ASSERTIONS = frozenset(
    {
        _aten._assert_async.msg,
        _aten._assert_async.default,
        _aten._assert_scalar.default,
        _aten._assert_tensor_metadata.default,
        _aten.sym_constrain_range.default,
        _aten.sym_constrain_range_for_size.default,
        _aten._functional_assert_async.msg,
        _aten._functional_sym_constrain_range.default,
        torch._check,
    }
)


class RemoveGraphAssertsPass(GraphPass):
    """Erases assertions and range hints, which only the exporter needs.

    Dead-code elimination removes the values that only they used.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for node in reversed(list(module.graph.nodes)):
                if node.op == "call_function" and node.target in ASSERTIONS and not node.users:
                    module.graph.erase_node(node)
                    modified = True
        return PassResult(graph_module, modified)
