# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Copies that become views of the memory plan, and copies that stay."""

import torch
from oracle.models.planned_graph import call_targets, plan, run_planned
from torch.export import export

from executorch.exir import ExecutorchBackendConfig, memory, to_edge
from executorch.exir.tensor import ViewSpec


def test_views_cost_nothing():
    class Views(torch.nn.Module):
        def forward(self, x):
            y = x * 2
            return y[1] + 1, y.view(-1)[3:7] * 2, y.unsqueeze(0).flatten() - 1, y[:2].sin(), y[:, 1] + 1

    x = torch.randn(3, 4)
    program = plan(Views(), x)
    views = [node for node in program.graph.nodes if node.target is memory.view]
    assert all(isinstance(node.meta["spec"], ViewSpec) for node in views)
    assert [target for target in call_targets(program) if "copy" in target] == ["aten.select_copy.int_out"]
    torch.testing.assert_close(tuple(run_planned(program, x)), Views()(x))


def test_outputs_are_not_views():
    class Flat(torch.nn.Module):
        def forward(self, x):
            y = x * 2
            return y.view(-1), y

    x = torch.randn(3, 4)
    program = plan(Flat(), x)
    assert not [node for node in program.graph.nodes if node.target is memory.view]
    torch.testing.assert_close(tuple(run_planned(program, x)), Flat()(x))


def test_views_can_be_left_as_copies():
    class Flat(torch.nn.Module):
        def forward(self, x):
            return (x * 2).view(-1).sin()

    edge = to_edge(export(Flat(), (torch.randn(2, 4),)))
    program = edge.to_executorch(ExecutorchBackendConfig(remove_view_copy=False, check_target=False))
    assert not [node for node in program.exported_program().graph.nodes if node.target is memory.view]
