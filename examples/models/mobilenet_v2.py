# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""MobileNet V2."""

from executorch.examples.models.timm_image_model import TimmImageModel


class MV2Model(TimmImageModel):
    """MobileNet V2 of width 1."""

    timm_name = "mobilenetv2_100"


class MV2UntrainedModel(TimmImageModel):
    """MobileNet V2 of width 1; the same as MV2Model, whose weights are random too."""

    timm_name = "mobilenetv2_100"
