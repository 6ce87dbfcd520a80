# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A recurrent model."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from executorch.examples.models.model_base import EagerModelBase


class LSTMModel(EagerModelBase):
    """Two LSTM layers with random weights."""

    def get_eager_model(self) -> nn.Module:
        """Return the layers: (steps, batch, 10) and a state → (steps, batch, 20) and the next state."""
        return nn.LSTM(10, 20, num_layers=2).eval()

    def get_example_inputs(self) -> tuple[Any, ...]:
        """Return five steps of a batch of three, and the state (h, c)."""
        return torch.randn(5, 3, 10), (torch.randn(2, 3, 20), torch.randn(2, 3, 20))
