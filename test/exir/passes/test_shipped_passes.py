# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Effects of each shipped pass on a graph. Every pass keeps the results, and a second run changes nothing."""

import pytest
import torch
from oracle.models.planned_graph import plan, run_planned
from torch.export import export

from executorch.exir import to_edge
from executorch.exir.passes import (
    CSEPass,
    DeadCodeEliminationPass,
    DebugHandleGeneratorPass,
    MemoryFormatOpsPass,
    NormalizeViewsPass,
    RemoveGraphAssertsPass,
    RemoveNoopPass,
    ReplaceSymOpsPass,
    ScalarToTensorPass,
)


class Sample(torch.nn.Module):
    """A little of everything that the passes look for."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        y = self.linear(x) * 2.0 + 1
        z = y.unsqueeze(1).squeeze(1).view(-1, 3)[1:].transpose(0, 1)
        return torch.relu(z) + torch.relu(z), y.expand(y.shape).clone()


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
    torch.testing.assert_close(tuple(run_planned(plan(model, x), x)), model(x))
