# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""torchvision's operators for tests without torchvision: definition, eager interpolation, and a run of our lowering."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.export import export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

_LIBRARY = torch.library.Library("torchvision", "FRAGMENT")


def define(name: str, schema: str, fake: Callable[..., object], eager: Callable[..., object] | None) -> None:
    """Define `torchvision::name` unless torchvision has done so."""
    if not hasattr(torch.ops.torchvision, name):
        _LIBRARY.define(name + schema)
        torch.library.register_fake(f"torchvision::{name}", fake, lib=_LIBRARY)
        if eager is not None:
            _LIBRARY.impl(name, eager, "CPU")


def pixel(image: torch.Tensor, y: float, x: float) -> torch.Tensor:
    """Return the channels between four pixels, as roi_align interpolates; 0 farther than a pixel from the image."""
    height, width = image.shape[-2:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return torch.zeros(image.shape[0])
    y, x = min(max(y, 0.0), height - 1), min(max(x, 0.0), width - 1)
    low_y, low_x = int(y), int(x)
    high_y, high_x = min(low_y + 1, height - 1), min(low_x + 1, width - 1)
    top = torch.lerp(image[:, low_y, low_x], image[:, low_y, high_x], x - low_x)
    return torch.lerp(top, torch.lerp(image[:, high_y, low_x], image[:, high_y, high_x], x - low_x), y - low_y)


class _Call(nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> torch.Tensor:
        return self.function(*args)


def run(function: Callable[..., torch.Tensor], calls: list[tuple[torch.Tensor, ...]], dims: object) -> list[object]:
    """Return the first output of each call of the function, exported with the first call and lowered."""
    shapes = None if dims is None else {"args": dims}
    program = export(_Call(function), calls[0], dynamic_shapes=shapes, strict=False)
    file = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch().buffer
    method = Runtime.get().load_program(file).load_method("forward")
    return [method.execute(list(call))[0] for call in calls]


def boxes(count: int) -> torch.Tensor:
    """Return random corners x1, y1, x2, y2, [count, 4]."""
    corner = torch.rand(count, 2) * 40
    return torch.cat([corner, corner + 1 + torch.rand(count, 2) * 30], 1)
