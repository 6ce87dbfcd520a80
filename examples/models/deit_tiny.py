# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Data-efficient image transformer."""

from executorch.examples.models.timm_image_model import TimmImageModel


class DeiTTinyModel(TimmImageModel):
    """DeiT tiny."""

    timm_name = "deit_tiny_patch16_224"
