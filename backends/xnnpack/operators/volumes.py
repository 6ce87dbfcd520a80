# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Convolutions of volumes as convolutions of images: the images that a window covers in depth become its channels."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, cast

import torch
from torch.fx import Node

from executorch.backends.xnnpack.lowering.layout import Order, arranged
from executorch.backends.xnnpack.lowering.lowering import Lowering
from executorch.backends.xnnpack.serialization import xnnpack_graph as g

VOLUMES: Order = (0, 2, 3, 4, 1)
"""Dim order of volumes: batch, depth, height, width, channels."""


class Windows(NamedTuple):
    """Windows over the depth of volumes."""

    kernel: int
    stride: int
    padding: int
    dilation: int
    groups: int


def as_images(low: Lowering, node: Node) -> tuple[list[object], list[int]]:
    """Sizes and bounds of volumes [N, D, H, W, C] as images [N * D, H, W, C]; None for a dynamic size."""
    (batch, depth, *sizes), bounds = arranged(node.meta["val"].shape, VOLUMES), low.shape(node, VOLUMES)
    images = batch * depth if isinstance(batch, int) and isinstance(depth, int) else None
    return [images, *sizes], [bounds[0] * bounds[1], *bounds[2:]]


def windows_of_volumes(low: Lowering, node: Node, windows: Windows) -> tuple[int, int]:
    """Read a convolution's volumes as one image for each window, and return it with the number of its channels."""
    source = cast(Node, node.args[0])
    value, bounds = low.read(source, VOLUMES), low.shape(source, VOLUMES)
    if windows.padding:
        padding = [0, windows.padding, 0, 0, 0]
        bounds[1] += 2 * windows.padding
        value = low.step(node, partial(g.StaticConstantPad, padding, padding, 0.0), value, shape=bounds)
    count = low.shape(node)[2]
    places = [at * windows.stride + k * windows.dilation for at in range(count) for k in range(windows.kernel)]
    if places != list(range(bounds[1])):
        bounds[1] = len(places)
        value = low.step(node, partial(g.StaticGather, 1, places), value, shape=bounds)
    batch, *sizes = arranged(source.meta["val"].shape, VOLUMES)
    images = batch * count if isinstance(batch, int) else None
    channels, largest = bounds[4] * windows.kernel, [bounds[0] * count, *bounds[2:]]
    if windows.kernel > 1:
        apart = [images, windows.kernel, *sizes[1:]]
        value = low.reshaped(node, value, apart, [largest[0], windows.kernel, *largest[1:]])
        steps = [0, 2, 3, 1, 4] if windows.groups == 1 else [0, 2, 3, 4, 1]
        moved = [largest[0], windows.kernel, *largest[1:]]
        shape = [moved[place] for place in steps]
        value = low.step(node, partial(g.StaticTranspose, 5, steps), value, shape=shape)
    return low.reshaped(node, value, [images, *sizes[1:3], channels], [*largest[:3], channels]), channels


def filters_of_volumes(weight: torch.Tensor, groups: int) -> torch.Tensor:
    """[outputs, inputs, D, H, W] as filters of the images of `windows_of_volumes`."""
    return (weight.transpose(1, 2) if groups == 1 else weight).flatten(1, 2)
