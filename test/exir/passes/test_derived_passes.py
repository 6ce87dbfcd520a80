# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Users' classes that derive from the shipped passes, and override the hooks of `ExportPass`."""

from inspect import signature
from types import FunctionType

import pytest
import torch
from torch.export import export

from executorch.exir import to_edge
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import ExportPass
from executorch.exir.passes import (
    CSEPass,
    DebugHandleGeneratorPass,
    LegalizePortableDimOrderPass,
    MemoryFormatOpsPass,
    OpReplacePass,
    PruneEmptyTensorsPass,
    RemoveNoopPass,
    RemoveToCopyPass,
    ScalarToTensorPass,
    SpecPropPass,
    ToDevicePass,
)
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from executorch.exir.passes.memory_format_ops_pass import DimOrderOpsRevertPass
from executorch.exir.passes.quantize_io_pass import QuantizeInputs, QuantizeOutputs
from executorch.extension.llm.export.export_passes import RemoveRedundantTransposes, ReplaceSDPAWithCustomSDPAPass

_IMAGE = torch.randn(1, 3, 2, 2).to(memory_format=torch.channels_last)
_ADD = (torch.ops.aten.add.Tensor, exir_ops.edge.aten.add.Tensor)


class Sample(torch.nn.Module):
    """An addition, and a call for each of the passes."""

    def forward(self, image):
        return (image + image).mean((2, 3)) * 2.0, image.to(memory_format=torch.contiguous_format)


def _calls(graph_module):
    return [str(node.target) for node in graph_module.graph.nodes if node.op == "call_function"]


def _graph(dialect):
    program = export(Sample(), (_IMAGE,))
    return (program.run_decompositions() if dialect == "aten" else to_edge(program).exported_program()).graph_module


@pytest.mark.parametrize(
    ("one", "dialect"),
    [
        (OpReplacePass, "aten"),
        (ScalarToTensorPass, "aten"),
        (MemoryFormatOpsPass, "aten"),
        (DimOrderOpsRevertPass, "edge"),
        (LegalizePortableDimOrderPass, "edge"),
    ],
)
def test_a_derived_pass_changes_calls_before_the_pass_does(one, dialect):
    class AddToMul(one):
        def call_operator(self, op, args, kwargs, meta):
            if op in _ADD:
                op = exir_ops.edge.aten.mul.Tensor if dialect == "edge" else torch.ops.aten.mul.Tensor
            return super().call_operator(op, args, kwargs, meta)

    alone = one()(_graph(dialect))
    derived = AddToMul()(_graph(dialect))
    assert alone.modified and derived.modified
    expected = _calls(alone.graph_module)
    assert _calls(derived.graph_module) == [call.replace("aten.add.", "aten.mul.") for call in expected]
    assert all("val" in node.meta for node in derived.graph_module.graph.nodes if node.op == "call_function")


def test_a_derived_pass_chooses_the_buffers_that_keep_their_initial_values():
    class Named(InitializedMutableBufferPass):
        def placeholder(self, name, arg, meta):
            seen.append(name)
            return super().placeholder(name, arg, meta)

    seen = []
    result = Named(["image"])(_graph("edge"))
    marked = [node.name for node in result.graph_module.graph.nodes if node.meta.get("et_init_buffer")]
    assert "image" in seen and marked == ["image"]


@pytest.mark.parametrize(
    "one",
    [
        CSEPass,
        DebugHandleGeneratorPass,
        PruneEmptyTensorsPass,
        RemoveNoopPass,
        RemoveToCopyPass,
        SpecPropPass,
        RemoveRedundantTransposes,
        ReplaceSDPAWithCustomSDPAPass,
        lambda: ToDevicePass("cpu"),
        lambda: InitializedMutableBufferPass([]),
        lambda: QuantizeInputs(to_edge(export(Sample(), (_IMAGE,))), []),
        lambda: QuantizeOutputs(to_edge(export(Sample(), (_IMAGE,))), []),
    ],
)
def test_a_pass_can_interpret_a_graph_with_the_hooks_of_export_pass(one):
    graph_module = _graph("edge")
    interpreted = ExportPass.call(one(), graph_module).graph_module
    assert _calls(interpreted) == _calls(graph_module)


def _hooks():
    methods = {name: signature(method) for name, method in vars(ExportPass).items() if isinstance(method, FunctionType)}
    return ["on_attr", *(name for name, given in methods.items() if name[0] != "_" and "meta" in given.parameters)]


@pytest.mark.parametrize("hook", _hooks())
def test_overriding_any_hook_makes_a_pass_interpret_the_graph(hook):
    def override(self, *args):
        return getattr(ExportPass, hook)(self, *args)

    graph_module = _graph("edge")
    derived = type("Derived", (DimOrderOpsRevertPass,), {hook: override})
    assert derived()(graph_module).graph_module is not graph_module


def test_a_pass_without_hooks_rewrites_the_graph_in_place():
    graph_module = _graph("edge")
    assert DimOrderOpsRevertPass()(graph_module).graph_module is graph_module
