# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators that change only sizes become one operator."""

import torch
from models.module_kinds import kind_of
from oracle.models.every_step import assert_every_step_keeps
from oracle.models.planned_graph import call_targets
from torch.export import export

from executorch.exir import to_edge
from executorch.exir.passes import NormalizeViewsPass


def _sizes_alone(x: torch.Tensor) -> torch.Tensor:
    return x.sin().unsqueeze(0).squeeze(0).permute(1, 0, 2).squeeze().expand(1, 1, 3)


def test_operators_that_keep_the_order_of_elements_become_views() -> None:
    kind = kind_of(_sizes_alone, (torch.randn(1, 1, 3),))
    assert_every_step_keeps(kind)
    edge = to_edge(export(kind.module, kind.calls[0])).transform([NormalizeViewsPass()])
    targets = set(call_targets(edge.exported_program()))
    assert targets == {"aten.sin.default", "aten.view_copy.default"}


def test_a_permute_that_moves_elements_stays() -> None:
    kind = kind_of(lambda x: x.sin().permute(1, 0), (torch.randn(2, 3),))
    edge = to_edge(export(kind.module, kind.calls[0])).transform([NormalizeViewsPass()])
    assert call_targets(edge.exported_program()) == ["aten.sin.default", "aten.permute_copy.default"]
