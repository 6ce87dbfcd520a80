# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Modules that run in both modes: on the lean tensors and on at::Tensor."""

from __future__ import annotations

import torch


class Network(torch.nn.Module):
    """Constants, an integer input, lists of tensors, views, several outputs; ``norm`` is of six channels."""

    def __init__(self, norm: torch.nn.Module) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 6, 3, padding=1)
        self.norm = norm
        self.linear = torch.nn.Linear(6, 4)
        self.embedding = torch.nn.Embedding(10, 4)

    def features(self, image: torch.Tensor) -> torch.Tensor:
        return self.norm(self.convolution(image)).relu()

    def forward(self, image: torch.Tensor, words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        left, right = self.linear(self.features(image).mean((2, 3))).split(2, dim=1)
        both = torch.cat([right, left], dim=1)
        return torch.softmax(both[:, None] + self.embedding(words), -1), both.argmax(1)


class Pooled(Network):
    """Also computes maxima; no operator reads their indices."""

    def features(self, image: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.max_pool2d(super().features(image), 2)


class Counter(torch.nn.Module):
    """A buffer that each execution changes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(x)
        return self.count * 2
