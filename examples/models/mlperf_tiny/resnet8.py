# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Classification of 32 x 32 images."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from executorch.examples.models.mlperf_tiny.layers import conv_unit
from executorch.examples.models.model_base import EagerModelBase


class _Residual(nn.Module):
    """Two 3 x 3 convolutions, added to the input or to a 1 x 1 convolution of it."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        second = [nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs)]
        self.path = nn.Sequential(*conv_unit(inputs, outputs, 3, stride=stride, padding=1), *second)
        same = inputs == outputs and stride == 1
        self.skip = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.path(image) + self.skip(image))


class ResNet8Model(EagerModelBase):
    """Three residual blocks of 16, 32 and 64 channels; 10 classes."""

    def get_eager_model(self) -> nn.Module:
        """Return the model in evaluation mode."""
        blocks = [_Residual(16, 16, 1), _Residual(16, 32, 2), _Residual(32, 64, 2)]
        head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)]
        return nn.Sequential(*conv_unit(3, 16, 3, padding=1), *blocks, *head).eval()

    def get_example_inputs(self) -> tuple[torch.Tensor]:
        """Return one image."""
        return (torch.rand(1, 3, 32, 32) * 2 - 1,)
