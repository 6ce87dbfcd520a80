# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""EDSR: images of twice the height and width, by residual convolutions (https://arxiv.org/abs/1707.02921)."""

from __future__ import annotations

import logging

import torch
from torch import nn

from executorch.examples.models.model_base import EagerModelBase

logger = logging.getLogger(__name__)
_CHANNELS = 64
_BLOCKS = 16


def _convolution(inputs: int, outputs: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, padding=1)


class _ResidualBlock(nn.Module):
    """Two convolutions with a residual connection."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(_convolution(_CHANNELS, _CHANNELS), nn.ReLU(), _convolution(_CHANNELS, _CHANNELS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = x + self.body(x)
        return result


class Edsr(nn.Module):
    """Images (batch, 3, height, width) of values 0 to 1 → (batch, 3, 2 * height, 2 * width)."""

    mean: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        # The mean colour of DIV2K, the data set of the paper.
        self.register_buffer("mean", torch.tensor([0.4488, 0.4371, 0.4040]).view(1, 3, 1, 1))
        self.head = _convolution(3, _CHANNELS)
        blocks = [_ResidualBlock() for _ in range(_BLOCKS)]
        self.body = nn.Sequential(*blocks, _convolution(_CHANNELS, _CHANNELS))
        self.tail = nn.Sequential(
            _convolution(_CHANNELS, 4 * _CHANNELS), nn.PixelShuffle(2), _convolution(_CHANNELS, 3)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = self.head(x - self.mean)
        result: torch.Tensor = self.tail(features + self.body(features)) + self.mean
        return result


class EdsrModel(EagerModelBase):
    """EDSR of 16 blocks and 64 channels with random weights."""

    def get_eager_model(self) -> nn.Module:
        """Return the model in evaluation mode."""
        logger.info("edsr: weights are random; nothing is downloaded")
        return Edsr().eval()

    def get_example_inputs(self) -> tuple[torch.Tensor]:
        """Return one image."""
        return (torch.randn(1, 3, 224, 224),)
