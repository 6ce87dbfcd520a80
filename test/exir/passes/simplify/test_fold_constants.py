# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Calls on constants that are computed when the program is made, and those that are not."""

import pytest
import torch
from models.module_kinds import kind_of
from oracle.models.every_step import assert_step_saves
from oracle.models.planned_graph import call_targets, plan, run_planned
from torch.export import export

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes.simplify.fold_constants import FREE_GROWTH, fold_constants

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
