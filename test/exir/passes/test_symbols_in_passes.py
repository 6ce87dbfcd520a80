# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Dynamic sizes in passes, and the forms in which `transform` takes passes."""

import pytest
import torch
from torch.export import Dim, export
from torch.fx.passes.infra.pass_manager import PassManager as FxPassManager

from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.exir.dialects._ops import ops
from executorch.exir.error import ExportError
from executorch.exir.pass_base import ExportPass, ExportPassBaseError, ProxyValue
from executorch.exir.pass_manager import ExportedProgramPassManager, PassManager
from executorch.exir.passes import HintBasedSymShapeEvalPass


class Double(torch.nn.Module):
    def forward(self, x):
        return x + x


class AddToMul(ExportPass):
    def call_operator(self, op, args, kwargs, meta):
        return super().call_operator(
            ops.edge.aten.mul.Tensor if op is ops.edge.aten.add.Tensor else op, args, kwargs, meta
        )


def dynamic_edge():
    return to_edge(export(Double(), (torch.ones(2, 3),), dynamic_shapes=({0: Dim("batch", min=2, max=8)},)))


@pytest.mark.sampled
@pytest.mark.parametrize(
    "passes",
    [
        [AddToMul()],
        AddToMul(),
        PassManager([AddToMul()]),
        FxPassManager([AddToMul()]),
        ExportedProgramPassManager([AddToMul()]),
        {"forward": FxPassManager([AddToMul()])},
    ],
    ids=["list", "one", "manager", "torch's manager", "manager of programs", "dict"],
)
def test_passes_are_taken_in_every_form(passes):
    edge = dynamic_edge()
    x = torch.full((4, 3), 3.0)
    torch.testing.assert_close(edge.transform(passes).exported_program().module()(x), x * x)
    torch.testing.assert_close(edge.exported_program().module()(x), x + x)


def test_none_is_accepted_for_lists_of_operators():
    config = EdgeCompileConfig(_core_aten_ops_exception_list=None, preserve_ops=None)
    assert to_edge(export(Double(), (torch.ones(2),)), compile_config=config).methods == {"forward"}


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("read", "use"),
    [(bool, "boolean context"), (int, "converted to int"), (lambda v: v.__index__(), "used in index context")],
)
def test_a_dynamic_size_is_not_read_as_a_number(read, use):
    (node,) = [n for n in dynamic_edge().exported_program().graph.nodes if n.op == "placeholder"]
    size = node.meta["val"].shape[0]
    with pytest.raises(ExportPassBaseError, match=use):
        read(ProxyValue(size, torch.fx.Graph().placeholder("x")))
    assert read(ProxyValue(1, torch.fx.Graph().placeholder("x"))) == 1
    with pytest.raises(ExportPassBaseError, match="converted to float"):
        float(ProxyValue(torch.sym_float(size), torch.fx.Graph().placeholder("x")))


class FixInput(ExportPass):
    """Gives the input a fixed size."""

    def placeholder(self, name, arg, meta):
        value = super().placeholder(name, arg, meta)
        value.node.meta["val"] = torch.empty(2, 3, device="meta")
        return value


class FixInputOnPurpose(FixInput):
    def should_preserve_symbolic_input_metadata(self):
        return False


def test_a_pass_that_loses_the_dynamic_size_of_an_input_is_refused():
    graph_module = dynamic_edge().exported_program().graph_module
    with pytest.raises(ExportPassBaseError, match="Input at position 0 did not preserve symbolic metadata"):
        FixInput()(graph_module)
    assert FixInputOnPurpose()(graph_module).modified


class FromData(torch.nn.Module):
    """A tensor of a size that data decide, with a bound or without one."""

    def __init__(self, largest):
        super().__init__()
        self.largest = largest

    def forward(self, count):
        size = count.item()
        torch._check(size >= 2)
        if self.largest:
            torch._check(size <= self.largest)
        return torch.ones(size)


def test_a_size_that_data_decide_has_the_bound_that_it_states():
    config = ExecutorchBackendConfig(sym_shape_eval_pass=HintBasedSymShapeEvalPass(), check_target=False)
    program = to_edge(export(FromData(100), (torch.tensor(10),))).to_executorch(config).exported_program()
    assert program.graph.output_node().meta["spec"][0].shape == [100]
    with pytest.raises(ExportError, match=r"depends on data.*has no upper bound"):
        to_edge(export(FromData(None), (torch.tensor(10),))).to_executorch(config)
