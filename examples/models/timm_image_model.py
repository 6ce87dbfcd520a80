# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Image models that the package timm defines."""

from __future__ import annotations

import logging
from typing import Any

import torch

from executorch.examples.models.model_base import EagerModelBase

logger = logging.getLogger(__name__)


def create_timm_model(example: str, timm_name: str, **settings: Any) -> torch.nn.Module:
    """Return a model of timm with random weights, in evaluation mode. Raises ImportError if timm is not installed.

    example: name of the model in errors. settings: of timm.create_model.
    """
    try:
        import timm
    except ImportError as error:
        raise ImportError(
            f"example model {example} needs timm and torchvision ({error}): pip install timm", name=error.name
        ) from error
    logger.info("%s: weights are random; nothing is downloaded", timm_name)
    model: torch.nn.Module = timm.create_model(timm_name, pretrained=False, **settings)
    return model.eval()


class TimmImageModel(EagerModelBase):
    """A classifier of timm with random weights. A subclass names it."""

    timm_name: str
    image_size = 224

    def get_eager_model(self) -> torch.nn.Module:
        """Return the model in evaluation mode. Raises ImportError if timm is not installed."""
        return create_timm_model(type(self).__name__, self.timm_name)

    def get_example_inputs(self) -> tuple[torch.Tensor]:
        """Return one image."""
        return (torch.randn(1, 3, self.image_size, self.image_size),)
