# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""MobileNet V3."""

from executorch.examples.models.timm_image_model import TimmImageModel


class MV3Model(TimmImageModel):
    """MobileNet V3 small."""

    timm_name = "mobilenetv3_small_100"
