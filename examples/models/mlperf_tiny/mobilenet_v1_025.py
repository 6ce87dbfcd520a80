# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Visual wake words: whether there is a person in an image."""

from __future__ import annotations

import torch
from torch import nn

from executorch.examples.models.mlperf_tiny.layers import conv_unit, separable_unit
from executorch.examples.models.model_base import EagerModelBase

# Output channels and stride of each depthwise separable convolution: MobileNet V1's, times 0.25.
_BLOCKS = ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1))


class MobileNetV1025Model(EagerModelBase):
    """MobileNet V1 with a quarter of the channels, on 96 x 96 images."""

    def get_eager_model(self) -> nn.Module:
        """Return the model in evaluation mode."""
        layers = conv_unit(3, 8, 3, stride=2, padding=1)
        channels = 8
        for outputs, stride in _BLOCKS:
            layers.append(separable_unit(channels, outputs, stride))
            channels = outputs
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 2)).eval()

    def get_example_inputs(self) -> tuple[torch.Tensor]:
        """Return one image."""
        return (torch.rand(1, 3, 96, 96) * 2 - 1,)
