# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Views that leave a size to be inferred beside one that is computed."""

import torch
from oracle.models.pipeline import assert_matches_eager
from torch import nn


class Heads(nn.Module):
    """A common form of attention layers: the view infers the number of heads."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(1, x.shape[1], -1, 4).transpose(1, 2) * 2


class Folded(nn.Module):
    """The size that the model leaves to be inferred also depends on the dynamic size."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * 2).view(x.shape[0], -1).expand(-1, -1) + 1


def test_a_view_infers_a_static_size_if_another_is_computed() -> None:
    calls = [(torch.randn(1, n, 12),) for n in (5, 2, 9)]
    assert_matches_eager(Heads(), *calls, dynamic_shapes=({1: torch.export.Dim("n", min=2, max=9)},))


def test_a_view_infers_a_dynamic_size_if_another_is_computed() -> None:
    calls = [(torch.randn(m, 3, n),) for m, n in ((2, 5), (4, 2), (3, 9))]
    dims = {0: torch.export.Dim("m", min=2, max=4), 2: torch.export.Dim("n", min=2, max=9)}
    assert_matches_eager(Folded(), *calls, dynamic_shapes=(dims,))
