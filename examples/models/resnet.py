# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Residual networks."""

from executorch.examples.models.timm_image_model import TimmImageModel


class ResNet18Model(TimmImageModel):
    """ResNet-18."""

    timm_name = "resnet18"


class ResNet50Model(TimmImageModel):
    """ResNet-50."""

    timm_name = "resnet50"
