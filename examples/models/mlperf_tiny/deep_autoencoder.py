# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Anomaly detection on spectrograms of machines."""

from __future__ import annotations

import torch
from torch import nn

from executorch.examples.models.model_base import EagerModelBase

_FEATURES = 640
_WIDTHS = (128, 128, 128, 128, 8, 128, 128, 128, 128)


class DeepAutoEncoderModel(EagerModelBase):
    """Nine linear layers through a bottleneck of 8, and one that restores the features."""

    def get_eager_model(self) -> nn.Module:
        """Return the model in evaluation mode."""
        layers: list[nn.Module] = []
        for inputs, outputs in zip((_FEATURES, *_WIDTHS), _WIDTHS, strict=False):
            layers += [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(_WIDTHS[-1], _FEATURES)).eval()

    def get_example_inputs(self) -> tuple[torch.Tensor]:
        """Return the features of one window."""
        return (torch.rand(1, _FEATURES) * 2 - 1,)
