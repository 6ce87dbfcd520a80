# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Copies that become views of the memory plan, and copies that stay."""

import torch
from oracle.models.planned_graph import call_targets, plan, run_planned
from torch.export import Dim, export

from executorch.exir import ExecutorchBackendConfig, memory, to_edge
from executorch.exir.tensor import ViewSpec
from executorch.runtime import Runtime


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


def test_a_slice_whose_length_varies_is_copied() -> None:
    class Rows(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x.sin()[: y.shape[0]] + y

    x = torch.randn(8, 4)
    program = export(Rows(), (x, torch.randn(3, 4)), dynamic_shapes=({}, {0: Dim("rows", max=8)}))
    method = Runtime.get().load_program(to_edge(program).to_executorch().buffer).load_method("forward")
    for rows in (3, 2, 8):
        y = torch.randn(rows, 4)
        torch.testing.assert_close(method.execute([x, y])[0], Rows()(x, y))
