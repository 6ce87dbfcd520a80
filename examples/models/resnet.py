# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Residual networks (https://arxiv.org/abs/1512.03385)."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import torch
from torch import nn

from executorch.examples.models.model_base import EagerModelBase

logger = logging.getLogger(__name__)
_STAGE_WIDTHS = (64, 128, 256, 512)
_CLASSES = 1000


def _convolution(inputs: int, outputs: int, size: int, stride: int = 1) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs)]


class _Block(nn.Module):
    """Convolutions beside a residual: two of 3x3, or a bottleneck of 1x1, 3x3 and 1x1 with four times the channels."""

    def __init__(self, inputs: int, width: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        self.outputs = 4 * width if bottleneck else width
        if bottleneck:
            first, last = [*_convolution(inputs, width, 1), nn.ReLU()], _convolution(width, self.outputs, 1)
            self.body = nn.Sequential(*first, *_convolution(width, width, 3, stride), nn.ReLU(), *last)
        else:
            self.body = nn.Sequential(
                *_convolution(inputs, width, 3, stride), nn.ReLU(), *_convolution(width, width, 3)
            )
        same_shape = stride == 1 and inputs == self.outputs
        self.shortcut = nn.Sequential(*([] if same_shape else _convolution(inputs, self.outputs, 1, stride)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.relu(self.body(x) + self.shortcut(x))


class ResNet(nn.Module):
    """Images (batch, 3, height, width) → scores (batch, 1000)."""

    def __init__(self, blocks_of_stages: Sequence[int], bottleneck: bool) -> None:
        super().__init__()
        layers: list[nn.Module] = [*_convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        channels = 64
        for stage, (width, blocks) in enumerate(zip(_STAGE_WIDTHS, blocks_of_stages, strict=True)):
            for index in range(blocks):
                block = _Block(channels, width, 2 if stage > 0 and index == 0 else 1, bottleneck)
                layers.append(block)
                channels = block.outputs
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.output = nn.Linear(channels, _CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.output(self.features(x))
        return scores


class ResNet18Model(EagerModelBase):
    """ResNet-18 with random weights."""

    blocks_of_stages: tuple[int, ...] = (2, 2, 2, 2)
    bottleneck = False

    def get_eager_model(self) -> nn.Module:
        """Return the model in evaluation mode."""
        logger.info("resnet: weights are random; nothing is downloaded")
        return ResNet(self.blocks_of_stages, self.bottleneck).eval()

    def get_example_inputs(self) -> tuple[torch.Tensor]:
        """Return one image."""
        return (torch.randn(1, 3, 224, 224),)


class ResNet50Model(ResNet18Model):
    """ResNet-50 with random weights."""

    blocks_of_stages = (3, 4, 6, 3)
    bottleneck = True
