# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Whisper, which the package transformers defines: one step of the decoder on an encoded spectrogram."""

from __future__ import annotations

import logging
from typing import Any

import torch

from executorch.examples.models.model_base import EagerModelBase

logger = logging.getLogger(__name__)

_START_OF_TRANSCRIPT = 50258
# The published sizes of openai/whisper-base.
_BASE: dict[str, Any] = {
    "d_model": 512,
    "encoder_layers": 6,
    "decoder_layers": 6,
    "encoder_attention_heads": 8,
    "decoder_attention_heads": 8,
    "encoder_ffn_dim": 2048,
    "decoder_ffn_dim": 2048,
    "decoder_start_token_id": _START_OF_TRANSCRIPT,
}


class WhisperWrapper(torch.nn.Module):
    """Returns only the last hidden state, without a cache."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_features: torch.Tensor, decoder_input_ids: torch.Tensor) -> torch.Tensor:
        """Return the decoder's last hidden state."""
        outputs = self.model(input_features=input_features, decoder_input_ids=decoder_input_ids, use_cache=False)
        return outputs.last_hidden_state  # type: ignore[no-any-return]


class WhisperModel(EagerModelBase):
    """Whisper of the sizes of whisper-base with random weights."""

    def get_eager_model(self) -> torch.nn.Module:
        """Return the model in evaluation mode. Raises ImportError if transformers is not installed."""
        try:
            from transformers import WhisperConfig
            from transformers import WhisperModel as Definition
        except ImportError as error:
            raise ImportError(
                f"example model whisper needs transformers ({error}): pip install transformers", name=error.name
            ) from error
        logger.info("whisper: weights are random; nothing is downloaded")
        return WhisperWrapper(Definition(WhisperConfig(**_BASE))).eval()

    def get_example_inputs(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the spectrogram of 30 seconds and the token that begins a transcript."""
        return torch.randn(1, 80, 3000), torch.tensor([[_START_OF_TRANSCRIPT]])
