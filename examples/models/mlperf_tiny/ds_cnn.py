# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Keyword spotting."""

from __future__ import annotations

import torch
from torch import nn

from executorch.examples.models.mlperf_tiny.layers import conv_unit, separable_unit
from executorch.examples.models.model_base import EagerModelBase


class DSCNNKWSModel(EagerModelBase):
    """A convolution and four depthwise separable ones on 49 x 10 features; 12 keywords."""

    def get_eager_model(self) -> nn.Module:
        """Return the model in evaluation mode."""
        stem = conv_unit(1, 64, (10, 4), stride=(2, 2), padding=(5, 1))
        body = [separable_unit(64, 64) for _ in range(4)]
        head = [nn.Dropout(0.4), nn.AvgPool2d((24, 5)), nn.Flatten(), nn.Linear(64, 12)]
        return nn.Sequential(*stem, nn.Dropout(0.2), *body, *head).eval()

    def get_example_inputs(self) -> tuple[torch.Tensor]:
        """Return the features of one second."""
        return (torch.rand(1, 1, 49, 10) * 2 - 1,)
