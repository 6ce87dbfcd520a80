# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Small modules that the demo backend's partitioners divide."""

import torch
from torch import nn


class MatmulAddSub(nn.Module):
    """Two delegates with a portable operator between them."""

    def forward(self, a: torch.Tensor, x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        y = torch.mm(a, x) + b
        y = y - a
        return torch.mm(y, x) + b


class Shifted(nn.Module):
    """A constant that moves into both delegates."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.randn(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + self.shift).cos() + self.shift
