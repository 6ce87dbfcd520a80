# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A detector like DETR: a convolutional backbone, a transformer, and learned queries for the objects."""

import torch
from torch import nn

from .timm_models import create_model


class Detector(nn.Module):
    """Images (batch, 3, 224, 224) → class scores (batch, queries, classes + 1) and boxes (batch, queries, 4)."""

    def __init__(self, dim: int = 128, heads: int = 4, layers: int = 3, queries: int = 50, classes: int = 20) -> None:
        super().__init__()
        whole = create_model("resnet18")
        self.backbone = nn.Sequential(*list(whole.children())[:-2])  # without pooling and classifier
        self.project = nn.Conv2d(512, dim, 1)
        self.transformer = nn.Transformer(dim, heads, layers, layers, 4 * dim, dropout=0.0, batch_first=True)
        self.place = nn.Parameter(torch.rand(1, 49, dim))
        self.queries = nn.Parameter(torch.rand(1, queries, dim))
        self.classes = nn.Linear(dim, classes + 1)
        self.boxes = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 4))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        tokens = self.project(self.backbone(x)).flatten(2).transpose(1, 2) + self.place
        output = self.transformer(tokens, self.queries.expand(x.shape[0], -1, -1))
        return self.classes(output), self.boxes(output).sigmoid()
