# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A U-Net for segmentation: encoder, bottleneck, and a decoder that also reads the encoder's feature maps."""

import torch
from torch import nn


def convolutions(channels: int, wanted: int) -> nn.Sequential:
    """Two convolutions of width 3, each with batch norm and ReLU."""
    layers: list[nn.Module] = []
    for source in (channels, wanted):
        layers += [nn.Conv2d(source, wanted, 3, padding=1, bias=False), nn.BatchNorm2d(wanted), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Images (batch, 3, height, width) → scores (batch, classes, height, width); sizes are multiples of 16."""

    def __init__(self, width: int = 16, classes: int = 2) -> None:
        super().__init__()
        widths = [width << level for level in range(5)]
        self.down = nn.ModuleList(convolutions(*pair) for pair in zip([3, *widths], widths, strict=False))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(2 * width, width, 2, stride=2) for width in widths[-2::-1])
        self.up = nn.ModuleList(convolutions(2 * width, width) for width in widths[-2::-1])
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for level, down in enumerate(self.down):
            x = down(nn.functional.max_pool2d(x, 2) if level else x)
            kept.append(x)
        for grow, up, skip in zip(self.grow, self.up, kept[-2::-1], strict=True):
            x = up(torch.cat([skip, grow(x)], dim=1))
        return self.head(x)
