# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Wav2Letter: characters from a wave form, by convolutions (https://arxiv.org/abs/1609.03193)."""

from __future__ import annotations

import torch
from torch import nn

from executorch.examples.models.model_base import EagerModelBase

# Input channels, output channels, kernel size, stride, padding of each layer but the last.
_LAYERS = (
    (1, 250, 250, 160, 45),
    (250, 250, 48, 2, 23),
    *((250, 250, 7, 1, 3),) * 7,
    (250, 2000, 32, 1, 16),
    (2000, 2000, 1, 1, 0),
)


class Wav2Letter(nn.Module):
    """Samples (batch, 1, samples) → log probabilities (batch, classes, frames)."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs, size, stride, padding in (*_LAYERS, (2000, num_classes, 1, 1, 0)):
            layers += [nn.Conv1d(inputs, outputs, size, stride, padding), nn.ReLU()]
        self.layers = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.log_softmax(self.layers(x), dim=1)


class Wav2LetterModel(EagerModelBase):
    """Wav2Letter with random weights."""

    def __init__(self) -> None:
        self.batch_size = 10
        self.input_frames = 700
        self.vocab_size = 4096

    def get_eager_model(self) -> nn.Module:
        """Return the model in evaluation mode."""
        return Wav2Letter(self.vocab_size).eval()

    def get_example_inputs(self) -> tuple[torch.Tensor]:
        """Return a batch of sounds."""
        return (torch.randn(self.batch_size, 1, self.input_frames),)
