# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Inception V4."""

from executorch.examples.models.timm_image_model import TimmImageModel


class InceptionV4Model(TimmImageModel):
    """Inception V4."""

    timm_name = "inception_v4"
    image_size = 299
