# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""DeepLab V3 for segmentation, on a dilated ResNet of timm."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from executorch.examples.models.model_base import EagerModelBase
from executorch.examples.models.timm_image_model import create_timm_model

_DILATIONS = (12, 24, 36)
_CLASSES = 21


def _unit(inputs: int, outputs: int, kernel: int, dilation: int = 1) -> nn.Sequential:
    padding = dilation * (kernel // 2)
    convolution = nn.Conv2d(inputs, outputs, kernel, padding=padding, dilation=dilation, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU())


class _SpatialPyramid(nn.Module):
    """Concatenates convolutions of several dilations and the image's mean."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.branches = nn.ModuleList([_unit(inputs, outputs, 1), *(_unit(inputs, outputs, 3, d) for d in _DILATIONS)])
        self.mean = nn.Sequential(nn.AdaptiveAvgPool2d(1), _unit(inputs, outputs, 1))
        self.project = nn.Sequential(_unit(outputs * (len(_DILATIONS) + 2), outputs, 1), nn.Dropout(0.5))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        mean = functional.interpolate(self.mean(features), size=features.shape[-2:], mode="bilinear")
        features_of_all = torch.cat([*(branch(features) for branch in self.branches), mean], dim=1)
        return self.project(features_of_all)  # type: ignore[no-any-return]


class DeepLabV3(nn.Module):
    """Scores of 21 classes for every pixel: "out", and "aux" from the second-to-last stage of the backbone."""

    def __init__(self, backbone: nn.Module, channels: tuple[int, int]) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = nn.Sequential(
            _SpatialPyramid(channels[1], 256), _unit(256, 256, 3), nn.Conv2d(256, _CLASSES, 1)
        )
        quarter = channels[0] // 4
        self.aux_classifier = nn.Sequential(
            _unit(channels[0], quarter, 3), nn.Dropout(0.1), nn.Conv2d(quarter, _CLASSES, 1)
        )

    def forward(self, image: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the scores by name, in the size of the image."""
        before, last = self.backbone(image)
        scores = {"out": self.classifier(last), "aux": self.aux_classifier(before)}
        size = image.shape[-2:]
        return {name: functional.interpolate(coarse, size=size, mode="bilinear") for name, coarse in scores.items()}


class DeepLabV3ResNet50Model(EagerModelBase):
    """DeepLab V3 on ResNet-50 with random weights."""

    timm_name = "resnet50"

    def get_eager_model(self) -> nn.Module:
        """Return the model in evaluation mode. Raises ImportError if timm is not installed."""
        settings = {"features_only": True, "out_indices": (3, 4), "output_stride": 8}
        backbone: Any = create_timm_model("dl3", self.timm_name, **settings)
        return DeepLabV3(backbone, tuple(backbone.feature_info.channels())).eval()

    def get_example_inputs(self) -> tuple[torch.Tensor]:
        """Return one image."""
        return (torch.randn(1, 3, 224, 224),)


class DeepLabV3ResNet101Model(DeepLabV3ResNet50Model):
    """DeepLab V3 on ResNet-101 with random weights."""

    timm_name = "resnet101"
