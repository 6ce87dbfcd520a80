# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Effects of each shipped pass on a graph. Every pass keeps the results, and a second run changes nothing."""

import pytest
import torch
from oracle.models.planned_graph import run_planned
from oracle.tolerances import LAYER
from torch.export import Dim, export

from executorch.exir import ExecutorchBackendConfig, memory, to_edge
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.error import ExportError
from executorch.exir.passes import (
    ConstraintBasedSymShapeEvalPass,
    CSEPass,
    DeadCodeEliminationPass,
    DebugHandleGeneratorPass,
    HintBasedSymShapeEvalPass,
    MemoryFormatOpsPass,
    NormalizeViewsPass,
    RemoveGraphAssertsPass,
    RemoveNoopPass,
    ReplaceSymOpsPass,
    ScalarToTensorPass,
    SpecPropPass,
    ToOutVarPass,
)
from executorch.exir.passes.simplify.fold_constants import FREE_GROWTH, fold_constants
from executorch.exir.schema import TensorShapeDynamism
from executorch.exir.tensor import ViewSpec

NO_TARGET = ExecutorchBackendConfig(check_target=False)


class Sample(torch.nn.Module):
    """A little of everything that the passes look for."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        y = self.linear(x) * 2.0 + 1
        z = y.unsqueeze(1).squeeze(1).view(-1, 3)[1:].transpose(0, 1)
        return torch.relu(z) + torch.relu(z), y.expand(y.shape).clone()


def _targets(program):
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


def _planned(model, *inputs, **export_options):
    return to_edge(export(model, inputs, **export_options)).to_executorch(NO_TARGET).exported_program()


@pytest.mark.parametrize(
    "one",
    [
        CSEPass,
        DeadCodeEliminationPass,
        DebugHandleGeneratorPass,
        MemoryFormatOpsPass,
        NormalizeViewsPass,
        RemoveGraphAssertsPass,
        RemoveNoopPass,
        ReplaceSymOpsPass,
        ScalarToTensorPass,
    ],
)
def test_a_pass_keeps_results_and_is_idempotent(one):
    model, x = Sample(), torch.randn(2, 4)
    edge = to_edge(export(model, (x,))).transform([one()])
    torch.testing.assert_close(edge.exported_program().module()(x), model(x))
    before = edge.exported_program().graph_module.code
    assert edge.transform([one()]).exported_program().graph_module.code == before


def test_the_planned_graph_computes_what_eager_does():
    model, x = Sample(), torch.randn(2, 4)
    torch.testing.assert_close(tuple(run_planned(_planned(model, x), x)), model(x))


def test_equal_numbers_become_one_constant_of_the_dtype_computed_in():
    class Numbers(torch.nn.Module):
        def forward(self, x, i):
            return x + 2, x * 2, i + 2, i * 2.5, i * True

    inputs = (torch.randn(3), torch.arange(3))
    program = to_edge(export(Numbers(), inputs)).exported_program()
    found = sorted((str(tensor.dtype), tensor.item()) for tensor in program.constants.values())
    assert found == [("torch.float32", 2.0), ("torch.float32", 2.5), ("torch.int64", 1), ("torch.int64", 2)]
    torch.testing.assert_close(program.module()(*inputs), Numbers()(*inputs))


def test_operands_are_converted_in_the_graph():
    class Mixed(torch.nn.Module):
        def forward(self, x, i):
            return x + i, torch.where(i > 1, x, i), i / 2

    inputs = (torch.randn(3), torch.arange(3))
    program = to_edge(export(Mixed(), inputs)).exported_program()
    assert "dim_order_ops._to_dim_order_copy.default" in _targets(program)
    torch.testing.assert_close(program.module()(*inputs), Mixed()(*inputs))


def test_views_cost_nothing():
    class Views(torch.nn.Module):
        def forward(self, x):
            y = x * 2
            return y[1] + 1, y.view(-1)[3:7] * 2, y.unsqueeze(0).flatten() - 1, y[:2].sin(), y[:, 1] + 1

    x = torch.randn(3, 4)
    program = _planned(Views(), x)
    views = [node for node in program.graph.nodes if node.target is memory.view]
    assert all(isinstance(node.meta["spec"], ViewSpec) for node in views)
    assert [target for target in _targets(program) if "copy" in target] == ["aten.select_copy.int_out"]
    torch.testing.assert_close(tuple(run_planned(program, x)), Views()(x))


def test_outputs_are_no_views():
    class Flat(torch.nn.Module):
        def forward(self, x):
            y = x * 2
            return y.view(-1), y

    x = torch.randn(3, 4)
    program = _planned(Flat(), x)
    assert not [node for node in program.graph.nodes if node.target is memory.view]
    torch.testing.assert_close(tuple(run_planned(program, x)), Flat()(x))


def test_views_can_be_left_as_copies():
    edge = to_edge(export(Sample(), (torch.randn(2, 4),)))
    program = edge.to_executorch(ExecutorchBackendConfig(remove_view_copy=False, check_target=False))
    assert not [node for node in program.exported_program().graph.nodes if node.target is memory.view]


def test_transposed_weights_are_folded_and_the_original_dropped():
    model, x = torch.nn.Linear(64, 32), torch.randn(1, 64)
    edge = to_edge(export(model, (x,)))
    program = edge.to_executorch(NO_TARGET).exported_program()
    assert _targets(program)[-1] == "aten.addmm.out" and "aten.permute_copy.out" not in _targets(program)
    assert set(program.state_dict) == {"bias"}
    torch.testing.assert_close(run_planned(program, x)[0], model(x))
    assert set(edge.exported_program().state_dict) == {"weight", "bias"}


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_a_batch_norm_goes_into_the_convolution_before_it(memory_format):
    torch.manual_seed(0)
    first, second = torch.nn.Conv2d(3, 8, 3, groups=1), torch.nn.Conv2d(8, 8, 3, groups=8, bias=False)
    norms = [torch.nn.BatchNorm2d(8), torch.nn.BatchNorm2d(8, affine=False), torch.nn.BatchNorm2d(3)]
    for norm in norms:
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
    model = torch.nn.Sequential(norms[2], first, norms[0], torch.nn.ReLU(), second, norms[1]).eval()
    model, x = model.to(memory_format=memory_format), torch.randn(1, 3, 8, 8).to(memory_format=memory_format)
    program = _planned(model, x)
    assert sum("batch_norm" in target for target in _targets(program)) == 1
    torch.testing.assert_close(run_planned(program, x)[0], model(x), **LAYER)


def test_a_constant_that_would_grow_the_file_is_computed_at_run_time():
    class Grow(torch.nn.Module):
        def forward(self, x):
            return torch.zeros(FREE_GROWTH) + x, torch.arange(4) + x

    targets = _targets(_planned(Grow(), torch.randn(1)))
    assert "aten.full.out" in targets and "aten.arange.start_out" not in targets


@pytest.mark.parametrize("budget, folds", [(0, False), (100_000, False), (400_000, True)])
def test_results_larger_than_their_constants_are_folded_within_the_budget(budget, folds):
    class Table(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.randn(16, 4))
            self.register_buffer("places", torch.arange(4096) % 16)

        def forward(self, x):
            return x + self.table[self.places], x + self.table[self.places + 0].flip(0)

    program = to_edge(export(Table().eval(), (torch.randn(4096, 4),))).exported_program()
    fold_constants(program, free_growth=0, budget=budget)
    assert any("index" in target for target in _targets(program)) is not folds


def test_random_operators_are_neither_folded_nor_merged():
    class Random(torch.nn.Module):
        def forward(self, x):
            return torch.rand(3) + x, torch.rand(3) + x

    targets = _targets(_planned(Random(), torch.randn(3)))
    assert sum("rand" in target for target in targets) == 2


def test_buffers_are_written_back_last_even_when_they_swap():
    class Swap(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", torch.ones(3))
            self.register_buffer("b", torch.zeros(3))

        def forward(self, x):
            old = self.a.clone()
            self.a.copy_(self.b)
            self.b.copy_(old)
            return self.a + x, self.b + x, old

    x = torch.randn(3)
    want = Swap()(x)
    program = _planned(Swap(), x)
    assert _targets(program)[-2:] == ["aten.copy_.default"] * 2
    torch.testing.assert_close(tuple(run_planned(program, x)), want)
    assert program.state_dict["a"].tolist() == [0.0] * 3 and program.state_dict["b"].tolist() == [1.0] * 3


def test_sizes_get_their_upper_bound():
    class Double(torch.nn.Module):
        def forward(self, x):
            return torch.cat([x, x]), x.shape[0] * 2

    inputs = (torch.randn(4, 3),)
    program = _planned(Double(), *inputs, dynamic_shapes=({0: Dim("n", min=2, max=10)},))
    spec = next(node for node in program.graph.nodes if node.target is memory.alloc).meta["spec"]
    assert spec.shape == [20, 3] and spec.shape_dynamism == TensorShapeDynamism.DYNAMIC_BOUND
    assert "executorch_prim.mul.Scalar" in _targets(program)
    found = run_planned(program, torch.ones(6, 3))
    assert found[0].shape == (12, 3) and found[1] == 12


def test_an_unbounded_size_is_left_to_the_runtime_refused_or_taken_from_hints():
    class Relu(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x)

    exported = export(Relu(), (torch.randn(4, 3),), dynamic_shapes=({0: Dim("n")},))
    strict = ExecutorchBackendConfig(sym_shape_eval_pass=ConstraintBasedSymShapeEvalPass(allow_unbounded=False))
    with pytest.raises(ExportError, match=r"size s.* of dimension 0 has no upper bound.*max="):
        to_edge(exported).to_executorch(strict)
    with pytest.warns(
        UserWarning, match=r"aten_relu_default \(dimension 0: s.*no upper bound.*max=.*dynamic allocator"
    ):
        program = to_edge(exported).to_executorch(NO_TARGET).exported_program()
    spec = program.graph.output_node().meta["spec"][0]
    assert spec.shape == [0, 3] and spec.shape_dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND
    assert spec.mem_id is None and str(spec.symbolic_shape[0]).startswith("s")
    config = ExecutorchBackendConfig(sym_shape_eval_pass=HintBasedSymShapeEvalPass(), check_target=False)
    program = to_edge(exported).to_executorch(config).exported_program()
    assert program.graph.output_node().meta["spec"][0].shape == [4, 3]
    assert isinstance(ConstraintBasedSymShapeEvalPass(), torch.fx.passes.infra.pass_base.PassBase)


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


def test_every_operator_without_an_out_variant_is_listed():
    with torch.library._scoped_library("p1_missing_out", "DEF") as library:
        for name in ("one", "two"):
            library.define(f"{name}(Tensor x) -> Tensor")
            library.impl(name, lambda x: x + 1, "CompositeExplicitAutograd")
            torch.library.register_fake(f"p1_missing_out::{name}", torch.empty_like, lib=library)

        class Custom(torch.nn.Module):
            def forward(self, x):
                return torch.ops.p1_missing_out.two(torch.ops.p1_missing_out.one(x))

        edge = to_edge(export(Custom(), (torch.randn(3),)))
        with pytest.raises(ExportError) as caught:
            edge.to_executorch()
        text = str(caught.value)
        assert "p1_missing_out::one" in text and "p1_missing_out::two" in text and "test_shipped_passes.py" in text
        edge.to_executorch(
            ExecutorchBackendConfig(to_out_var_pass=ToOutVarPass(ignore_to_out_var_failure=True), check_target=False)
        )


def test_debug_handles_follow_the_exported_node():
    edge = to_edge(export(torch.nn.Linear(3, 2), (torch.randn(1, 3),))).exported_program()
    handles = {node.meta["debug_handle"] for node in edge.graph.nodes if node.op == "call_function"}
    assert handles == {1}
