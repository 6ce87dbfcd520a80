# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Calls on constants that are computed when the program is made, and those that are not."""

from collections.abc import Callable

import pytest
import torch
from models.function_module import Function
from models.module_kinds import kind_of
from oracle.models.every_step import assert_step_saves
from oracle.models.planned_graph import call_targets, plan, run_planned
from torch.export import ExportedProgram, export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.passes.simplify.fold_constants import FREE_GROWTH, fold_constants, fold_for_backends
from executorch.runtime import Runtime

NO_TARGET = ExecutorchBackendConfig(check_target=False)


def test_transposed_weights_are_folded_and_the_original_dropped():
    model, x = torch.nn.Linear(64, 32), torch.randn(1, 64)
    edge = to_edge(export(model, (x,)))
    program = edge.to_executorch(NO_TARGET).exported_program()
    assert call_targets(program)[-1] == "aten.addmm.out" and "aten.permute_copy.out" not in call_targets(program)
    assert set(program.state_dict) == {"bias"}
    torch.testing.assert_close(run_planned(program, x)[0], model(x))
    assert set(edge.exported_program().state_dict) == {"weight", "bias"}


def test_a_constant_that_would_grow_the_file_is_computed_at_run_time():
    class Grow(torch.nn.Module):
        def forward(self, x):
            return torch.zeros(FREE_GROWTH) + x, torch.arange(4) + x

    targets = call_targets(plan(Grow(), torch.randn(1)))
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
    assert any("index" in target for target in call_targets(program)) is not folds


def test_random_operators_are_neither_folded_nor_merged():
    class Random(torch.nn.Module):
        def forward(self, x):
            return torch.rand(3) + x, torch.rand(3) + x

    targets = call_targets(plan(Random(), torch.randn(3)))
    assert sum("rand" in target for target in targets) == 2


def test_a_mask_is_computed_when_the_program_is_made() -> None:
    def masked(x: torch.Tensor) -> torch.Tensor:
        return x + torch.triu(torch.ones(3, 3), 1).masked_fill(torch.eye(3) > 0, 2.0)

    assert_step_saves("fold_constants", kind_of(masked, (torch.randn(3, 3),)))


WEIGHT = torch.randn(64, 64).to(torch.bfloat16)


def _rounded_places(x: torch.Tensor) -> torch.Tensor:
    return x[((torch.arange(6, dtype=torch.float32) + 0.5) * 0.5).to(torch.int64)]


def _rounded_place(x: torch.Tensor) -> torch.Tensor:
    return x[((torch.arange(1, dtype=torch.float32) + 0.5) * 2.5).to(torch.int64)]


def _written_in_parts(x: torch.Tensor) -> torch.Tensor:
    table = torch.empty(3, 4)
    table[:, 0::2] = torch.arange(6.0).view(3, 2).sin()
    table[:, 1::2] = 0.5
    return x + table


def _widened(x: torch.Tensor) -> torch.Tensor:
    return x @ WEIGHT.t().to(torch.float32)


def _folded(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> tuple[ExportedProgram, set[str]]:
    """The edge program after folding, and the names of its operators."""
    program = to_edge(export(Function(function), (x,))).exported_program()
    fold_for_backends(program)
    program.graph_module.recompile()
    torch.testing.assert_close(program.module()(x), function(x))
    return program, {node.target._schema.name for node in program.graph.nodes if node.op == "call_function"}


@pytest.mark.parametrize(
    ("function", "shape", "left"),
    [
        (_rounded_places, (3, 4), {"aten::index"}),
        (_rounded_place, (3, 4), {"aten::index"}),
        (_written_in_parts, (3, 4), {"aten::add"}),
        (_widened, (3, 64), {"aten::mm", "dim_order_ops::_to_dim_order_copy"}),
    ],
)
def test_calls_on_constants_are_folded_unless_they_widen_a_weight(
    function: Callable[[torch.Tensor], torch.Tensor], shape: tuple[int, ...], left: set[str]
) -> None:
    assert _folded(function, torch.randn(shape))[1] == left


def test_parts_that_nothing_writes_are_zeros_in_each_file() -> None:
    def partly(x: torch.Tensor) -> torch.Tensor:
        table = torch.empty(3, 4)
        table[0] = 2.0
        return (x + table)[0]

    program, _ = _folded(partly, torch.randn(3, 4))
    (table,) = (value for value in program.constants.values() if value.shape == (3, 4))
    assert torch.equal(table, torch.tensor([[2.0] * 4, [0.0] * 4, [0.0] * 4]))


class ConvertedWeight(torch.nn.Module):
    """A convolution as Keras with PyTorch computes it: the weight becomes channels last in each call."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 3, 4, 8))

    def forward(self, x):
        image, weight = x.permute(0, 3, 1, 2), self.weight.permute(3, 2, 0, 1)
        image, weight = (tensor.contiguous().to(memory_format=torch.channels_last) for tensor in (image, weight))
        return torch.nn.functional.conv2d(image, weight, padding=1).permute(0, 2, 3, 1)


def test_a_weight_that_the_graph_makes_channels_last_is_a_constant_of_that_layout():
    model, x = ConvertedWeight().eval(), torch.randn(2, 6, 5, 4)
    program = to_edge(export(model, (x,))).exported_program()
    fold_for_backends(program)
    (convolution,) = (node for node in program.graph.nodes if "convolution" in str(node.target))
    stored = program.constants[convolution.args[1].target]
    assert stored.stride() == convolution.args[1].meta["val"].stride() == (36, 1, 12, 4)
    delegated = to_edge_transform_and_lower(export(model, (x,)), partitioner=[XnnpackPartitioner()]).to_executorch()
    (plan_of_forward,) = delegated.executorch_program.execution_plan
    assert not plan_of_forward.operators
    for lowered in (delegated, to_edge(export(model, (x,))).to_executorch()):
        (output,) = Runtime.get().load_program(lowered.buffer).load_method("forward").execute([x])
        torch.testing.assert_close(output, model(x))
