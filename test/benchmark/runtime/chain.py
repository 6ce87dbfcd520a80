# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A chain of additions: programs with a given number of cheap instructions."""

import torch
from torch import nn


class Chain(nn.Module):
    """x + x + x + …: `length` instructions, each on the result of the one before."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for _ in range(self.length):
            y = y + x
        return y
