# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""MobileNet V2: inverted residuals of depthwise convolutions (https://arxiv.org/abs/1801.04381)."""

from __future__ import annotations

import logging

import torch
from torch import nn

from executorch.examples.models.model_base import EagerModelBase

logger = logging.getLogger(__name__)

# Table 2 of the paper: expansion, output channels, blocks, stride of the first block.
_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
_CLASSES = 1000


def _convolution(inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    convolution = nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)
    return [convolution, nn.BatchNorm2d(outputs)]


class _InvertedResidual(nn.Module):
    """Expansion, depthwise convolution and projection, with a residual connection if the shapes are equal."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        expand = [*_convolution(inputs, hidden, 1), nn.ReLU6()] if expansion > 1 else []
        depthwise = [*_convolution(hidden, hidden, 3, stride, groups=hidden), nn.ReLU6()]
        self.body = nn.Sequential(*expand, *depthwise, *_convolution(hidden, outputs, 1))
        self.has_residual = stride == 1 and inputs == outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.body(x)
        return x + y if self.has_residual else y


class MobileNetV2(nn.Module):
    """Images (batch, 3, height, width) → scores (batch, 1000)."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [*_convolution(3, 32, 3, 2), nn.ReLU6()]
        channels = 32
        for expansion, outputs, blocks, first_stride in _STAGES:
            for block in range(blocks):
                layers.append(_InvertedResidual(channels, outputs, first_stride if block == 0 else 1, expansion))
                channels = outputs
        self.features = nn.Sequential(*layers, *_convolution(channels, 1280, 1), nn.ReLU6())
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2))
        self.output = nn.Linear(1280, _CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.output(self.pool(self.features(x)))
        return scores


class MV2UntrainedModel(EagerModelBase):
    """MobileNet V2 of width 1 with random weights."""

    def get_eager_model(self) -> nn.Module:
        """Return the model in evaluation mode."""
        logger.info("mobilenet_v2: weights are random; nothing is downloaded")
        return MobileNetV2().eval()

    def get_example_inputs(self) -> tuple[torch.Tensor]:
        """Return one image."""
        return (torch.randn(1, 3, 224, 224),)


class MV2Model(MV2UntrainedModel):
    """The same as MV2UntrainedModel: no weights are shipped."""
