# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operands of different dtypes are converted to the dtype to which PyTorch promotes them."""

from collections.abc import Callable

import pytest
import torch
from models.function_module import Function
from models.module_kinds import kind_of
from oracle.models.every_step import assert_every_step_keeps
from oracle.models.pipeline import assert_matches_eager
from oracle.models.planned_graph import call_targets
from torch.export import export

from executorch.exir import to_edge


@pytest.mark.parametrize("function", [torch.div, torch.copysign, torch.atan2], ids=lambda f: f.__name__)
def test_integers_that_become_floating_point_are_not_narrowed_to_each_other(
    function: Callable[..., torch.Tensor],
) -> None:
    # The common dtype of the operands is uint8, which cannot represent -5.
    assert_matches_eager(Function(function), (torch.tensor([1, 2, 255], dtype=torch.uint8), torch.tensor(-5)))


@pytest.mark.parametrize("function", [torch.add, torch.eq, torch.maximum], ids=lambda f: f.__name__)
def test_integers_that_stay_integers_are_promoted_to_their_common_dtype(function: Callable[..., torch.Tensor]) -> None:
    assert_matches_eager(Function(function), (torch.tensor([1, 2, 251], dtype=torch.uint8), torch.tensor(-5)))


def test_operands_are_converted_in_the_graph():
    class Mixed(torch.nn.Module):
        def forward(self, x, i):
            return x + i, torch.where(i > 1, x, i), i / 2

    inputs = (torch.randn(3), torch.arange(3))
    program = to_edge(export(Mixed(), inputs)).exported_program()
    assert "dim_order_ops._to_dim_order_copy.default" in call_targets(program)
    torch.testing.assert_close(program.module()(*inputs), Mixed()(*inputs))


def test_each_step_keeps_the_results_of_mixed_dtypes() -> None:
    inputs = (torch.randn(3), torch.arange(3))
    assert_every_step_keeps(kind_of(lambda x, i: (x + i, i / 2, x * 2, x[0] + 1), inputs))
