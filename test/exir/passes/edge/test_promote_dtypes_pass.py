# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operands of different dtypes meet in the dtype in which PyTorch lets them meet."""

from collections.abc import Callable

import pytest
import torch
from oracle.models.pipeline import assert_matches_eager


class _Called(torch.nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.function(x, y)


@pytest.mark.parametrize("function", [torch.div, torch.copysign, torch.atan2], ids=lambda f: f.__name__)
def test_integers_that_become_floating_point_are_not_cut_to_each_other(function: Callable[..., torch.Tensor]) -> None:
    # The common dtype of the operands is uint8, which -5 is not among.
    assert_matches_eager(_Called(function), (torch.tensor([1, 2, 255], dtype=torch.uint8), torch.tensor(-5)))


@pytest.mark.parametrize("function", [torch.add, torch.eq, torch.maximum], ids=lambda f: f.__name__)
def test_integers_that_stay_integers_meet_in_their_common_dtype(function: Callable[..., torch.Tensor]) -> None:
    assert_matches_eager(_Called(function), (torch.tensor([1, 2, 251], dtype=torch.uint8), torch.tensor(-5)))
