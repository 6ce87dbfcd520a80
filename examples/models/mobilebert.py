# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""MobileBERT, which the package transformers defines."""

from __future__ import annotations

import logging

import torch

from executorch.examples.models.model_base import EagerModelBase

logger = logging.getLogger(__name__)


class MobileBertModelExample(EagerModelBase):
    """MobileBERT of the published sizes with random weights."""

    def get_eager_model(self) -> torch.nn.Module:
        """Return the model in evaluation mode. Raises ImportError if transformers is not installed."""
        try:
            from transformers import MobileBertConfig, MobileBertModel
        except ImportError as error:
            raise ImportError(
                f"example model mobilebert needs transformers ({error}): pip install transformers", name=error.name
            ) from error
        logger.info("mobilebert: weights are random; nothing is downloaded")
        model: torch.nn.Module = MobileBertModel(MobileBertConfig(return_dict=False))
        return model.eval()

    def get_example_inputs(self) -> tuple[torch.Tensor]:
        """Return the token ids of "Hello, my dog is cute" in BERT's uncased vocabulary."""
        return (torch.tensor([[101, 7592, 1010, 2026, 3899, 2003, 10140, 102]]),)
