# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Specs of nodes that denote the same value."""

import torch
from torch.export import export

from executorch.exir import memory, to_edge
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.passes import SpecPropPass, ToOutVarPass


def test_specs_are_shared_along_a_value():
    class Top(torch.nn.Module):
        def forward(self, x):
            return torch.topk(x, 2)

    graph_module = to_edge(export(Top(), (torch.randn(4),))).exported_program().graph_module
    SpecPropPass()(graph_module)
    (call,) = graph_module.graph.find_nodes(op="call_function", target=exir_ops.edge.aten.topk.default)
    assert graph_module.graph.output_node().meta["spec"] == call.meta["spec"]
    returned = graph_module.graph.output_node().meta["spec"]
    assert all(one is other for one, other in zip(returned, call.meta["spec"], strict=True))
    ToOutVarPass()(graph_module)
    assert [arg.target for arg in call.kwargs.values()] == [memory.alloc, memory.alloc]
