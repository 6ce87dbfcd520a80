# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Calling a shipped pass leaves no stale code in the graph modules that it changed."""

import importlib

import pytest
import torch
from torch.export import export

from executorch.exir import passes, to_edge
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.edge.memory_format_ops_pass import DimOrderOpsRevertPass
from executorch.exir.passes.quantize_io_pass import QuantizeInputs, QuantizeOutputs

importlib.import_module("torch.ao.quantization.fx._decomposed")  # defines operators of quantized_decomposed


class Branches(torch.nn.Module):
    """Views, copies, repeated and dead work, also inside of control flow."""

    def forward(self, x):
        y = x.to(memory_format=torch.channels_last) * 2.0 + torch.cat([x, x[:0]])
        z = y.expand(y.shape).unsqueeze(0).squeeze(0).clone()
        return torch.cond(x.sum() > 0, lambda v: v.sin() + v.sin(), lambda v: v.view(v.shape) * 3.0, [z])


def _generated(graph_module):
    return [module.graph.python_code("self").src for module in all_graph_modules(graph_module)]


@pytest.mark.parametrize(
    "made",
    [
        passes.CancelRearrangementsPass(),
        passes.CSEPass(),
        passes.DeadCodeEliminationPass(),
        passes.FoldQuantizationPass(),
        passes.FunctionalViewsPass(),
        passes.LegalizePortableDimOrderPass(),
        passes.NormalizeViewsPass(),
        passes.PruneEmptyTensorsPass(),
        passes.RemoveNoopPass(),
        passes.RemoveToCopyPass(),
        passes.ReplaceSymOpsPass(),
        passes.ReplaceViewCopyWithViewPass(),
        passes.ToOutVarPass(),
        DimOrderOpsRevertPass(),
        passes.dead_code_elimination_pass,
    ],
    ids=lambda one: getattr(one, "__name__", type(one).__name__),
)
def test_code_is_that_of_the_rewritten_graphs(made):
    edge = to_edge(export(Branches(), (torch.randn(2, 3, 4, 4),))).exported_program().graph_module
    edge.graph.call_function(torch.ops.aten.sin.default, (next(iter(edge.graph.nodes)),))  # dead code without effect
    edge.graph.eliminate_dead_code()
    result = made(edge)
    assert [module.code for module in all_graph_modules(result.graph_module)] == _generated(result.graph_module)


def test_out_variants_are_in_the_code():
    edge = to_edge(export(torch.nn.ReLU(), (torch.randn(2),))).exported_program().graph_module
    code = passes.ToOutVarPass()(edge).graph_module.code
    assert "torch.ops.aten.relu.out" in code and "edge" not in code


def _quantized(x):
    q, parameters = torch.ops.quantized_decomposed, (0.1, 0, -128, 127, torch.int8)
    inside = q.dequantize_per_tensor(q.quantize_per_tensor(x, *parameters), *parameters)
    return q.dequantize_per_tensor(q.quantize_per_tensor(inside + inside, *parameters), *parameters)


class QuantizedAdd(torch.nn.Module):
    def forward(self, x):
        return _quantized(x)


def test_integer_inputs_and_outputs_are_in_the_code_of_the_manager_that_the_pass_was_made_for():
    edge = to_edge(export(QuantizedAdd(), (torch.randn(2),)))
    edge.transform([QuantizeInputs(edge, [0])])
    edge.transform([QuantizeOutputs(edge, [0])])
    graph_module = edge.exported_program().graph_module
    assert [graph_module.code] == _generated(graph_module)
    operators = [str(node.target).rpartition("quantized_decomposed.")[2] for node in graph_module.graph.nodes]
    assert [name for name in operators if "quantize" in name] == [
        "dequantize_per_tensor.default",
        "quantize_per_tensor.default",
    ]
