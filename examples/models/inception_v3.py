# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Inception V3."""

from executorch.examples.models.timm_image_model import TimmImageModel


class InceptionV3Model(TimmImageModel):
    """Inception V3."""

    timm_name = "inception_v3"
