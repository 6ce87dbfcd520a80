# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Vision transformer."""

from executorch.examples.models.timm_image_model import TimmImageModel


class TorchVisionViTModel(TimmImageModel):
    """ViT-B/16."""

    timm_name = "vit_base_patch16_224"
