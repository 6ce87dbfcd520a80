# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A custom graph pass: it replaces every relu by a leaky relu."""

import torch

from executorch.exir import to_edge
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import ExportPass
from executorch.runtime import Runtime


class LeakyRelu(ExportPass):
    """Replaces ``relu(x)`` by ``leaky_relu(x, slope)``; metadata of the node is kept."""

    def __init__(self, slope: float) -> None:
        super().__init__()
        self.slope = slope

    def call_operator(self, op, args, kwargs, meta):
        if op is exir_ops.edge.aten.relu.default:
            return super().call_operator(exir_ops.edge.aten.leaky_relu.default, (args[0], self.slope), {}, meta)
        return super().call_operator(op, args, kwargs, meta)


model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()).eval()
x = torch.randn(4, 8)
edge = to_edge(torch.export.export(model, (x,))).transform([LeakyRelu(0.1)])
print("operators:", [str(n.target) for n in edge.exported_program().graph.nodes if n.op == "call_function"])

method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
expected = torch.nn.functional.leaky_relu(model[0](x), 0.1)
torch.testing.assert_close(method.execute([x])[0], expected)
print("the program computes leaky relu")
