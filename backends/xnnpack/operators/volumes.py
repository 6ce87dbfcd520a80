# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Convolutions of volumes as convolutions of images: the images that a window covers in depth become its channels.
Pools of volumes as pools of images, then of columns in depth.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import argument, getitems_of, is_reshapable, is_static, rank
from executorch.backends.xnnpack.lowering.layout import Order, arranged
from executorch.backends.xnnpack.lowering.lowering import Lowering, reshape
from executorch.backends.xnnpack.operators.rule import Rule
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.error import Rejection

VOLUMES: Order = (0, 2, 3, 4, 1)
"""Dim order of volumes: batch, depth, height, width, channels."""


class Windows(NamedTuple):
    """Windows over the depth of volumes."""

    kernel: int
    stride: int
    padding: int
    dilation: int
    groups: int
    transposed: bool

    def read(self, at: int, tap: int, depth: int) -> int | None:
        """Return the index in depth that a tap of result `at` reads; None for padding and gaps of a transposed one."""
        if not self.transposed:
            place = at * self.stride + tap * self.dilation - self.padding
            return place if 0 <= place < depth else None
        place, rest = divmod(at + self.padding - tap * self.dilation, self.stride)
        return place if rest == 0 and 0 <= place < depth else None


def as_images(low: Lowering, node: Node) -> tuple[list[object], list[int]]:
    """Return sizes and bounds of volumes [N, D, H, W, C] as images [N * D, H, W, C]; None for a dynamic size."""
    (batch, depth, *sizes), bounds = arranged(node.meta["val"].shape, VOLUMES), low.shape(node, VOLUMES)
    images = batch * depth if isinstance(batch, int) and isinstance(depth, int) else None
    return [images, *sizes], [bounds[0] * bounds[1], *bounds[2:]]


def windows_of_volumes(low: Lowering, node: Node, windows: Windows) -> tuple[g.ValueId, int]:
    """Read a convolution's volumes as one image for each window in depth; return its value and number of channels.

    The channels of an image are those of all taps of its window.
    """
    source = cast(Node, node.args[0])
    value, bounds = low.read(source, VOLUMES), low.shape(source, VOLUMES)
    count, depth = low.shape(node)[2], bounds[1]
    read = [windows.read(at, tap, depth) for at in range(count) for tap in range(windows.kernel)]
    places = [place for place in read if place is not None]
    if len(places) < len(read):
        # Padding taps read image 0, which is zeros.
        places = [0 if place is None else place + 1 for place in read]
        bounds[1] += 1
        before, after = [0, 1, 0, 0, 0], [0] * 5
        value = low.step(node, partial(g.StaticConstantPad, before, after, 0.0), value, shape=bounds)
    if places != list(range(bounds[1])):
        bounds[1] = len(places)
        value = low.step(node, partial(g.StaticGather, 1, places), value, shape=bounds)
    batch, *sizes = arranged(source.meta["val"].shape, VOLUMES)
    images = batch * count if isinstance(batch, int) else None
    channels, largest = bounds[4] * windows.kernel, [bounds[0] * count, *bounds[2:]]
    if windows.kernel > 1:
        apart = [largest[0], windows.kernel, *largest[1:]]
        value = low.reshaped(node, value, [images, windows.kernel, *sizes[1:]], apart)
        steps = [0, 2, 3, 1, 4] if windows.groups == 1 else [0, 2, 3, 4, 1]
        shape = [apart[place] for place in steps]
        value = low.step(node, partial(g.StaticTranspose, 5, steps), value, shape=shape)
    return low.reshaped(node, value, [images, *sizes[1:3], channels], [*largest[:3], channels]), channels


def filters_of_volumes(weight: torch.Tensor, groups: int, transposed: bool) -> torch.Tensor:
    """Return weights of volumes as filters of the images of `windows_of_volumes`.

    Weights are [outputs, inputs, D, H, W], or [inputs, outputs, D, H, W] of a transposed convolution.
    """
    if transposed:
        return (weight.permute(2, 0, 1, 3, 4) if groups == 1 else weight.transpose(1, 2)).flatten(0, 1)
    return (weight.transpose(1, 2) if groups == 1 else weight).flatten(1, 2)


def _numbers(node: Node, place: int, name: str, default: list[int]) -> list[int]:
    given = argument(node, place, name)
    numbers = [given] if isinstance(given, int) else cast("list[int]", given) or default
    return numbers * 3 if len(numbers) == 1 else numbers


def _window(node: Node) -> tuple[list[int], list[int], list[int]]:
    """Return kernel, stride and padding of a pool."""
    kernel = _numbers(node, 1, "kernel_size", [])
    return kernel, _numbers(node, 2, "stride", kernel), _numbers(node, 3, "padding", [0])


def _refuse_sizes(node: Node) -> Rejection | None:
    source = cast(Node, node.args[0])
    if rank(source) != 5:
        return Rejection("its operand is not a batch of volumes (rank 5)")
    if is_static(source.meta["val"].shape[2:]) and is_reshapable(source.meta["val"].shape):
        return None
    return Rejection("the size of its volumes is dynamic")


def _refuse_max(node: Node, program: ExportedProgram) -> Rejection | None:
    results = getitems_of(node)
    if 0 not in results or (1 in results and results[1].users):
        return Rejection("its indices are used")
    if _numbers(node, 4, "dilation", [1]) != [1, 1, 1]:
        return Rejection("it is dilated")
    kernel, stride, _ = _window(node)
    rejection = _refuse_sizes(node) or _refuse_single(kernel, stride)
    if rejection:
        return rejection
    far = any(more >= size for more, size in zip(_padding_after(node), kernel, strict=True))
    return Rejection("ceil_mode is set and its windows reach too far past the volume") if far else None


def _padding_after(node: Node) -> list[int]:
    """Return the padding of a maximum pool at the end of depth, height and width; ceil_mode enlarges it."""
    kernel, stride, padding = _window(node)
    if not argument(node, 5, "ceil_mode", False):
        return padding
    sizes, places = cast(Node, node.args[0]).meta["val"].shape[2:], getitems_of(node)[0].meta["val"].shape[2:]
    parts = zip(sizes, places, kernel, stride, padding, strict=True)
    return [max(p, (count - 1) * s + k - size - p) for size, count, k, s, p in parts]


def _refuse_single(kernel: list[int], stride: list[int]) -> Rejection | None:
    """Reject windows of one element with a stride, which XNNPACK lacks. kernel, stride: depth, height, width."""
    parts = (kernel[:1], kernel[1:]), (stride[:1], stride[1:])
    for sizes, steps in zip(*parts, strict=True):
        if set(sizes) == {1} and set(steps) != {1}:
            return Rejection("its windows skip elements")
    return None


def _refuse_average(node: Node, program: ExportedProgram) -> Rejection | None:
    kernel, stride, padding = _window(node)
    if argument(node, 4, "ceil_mode", False) or argument(node, 6, "divisor_override") is not None:
        return Rejection("its ceil_mode or divisor_override is set")
    if any(padding) and not argument(node, 5, "count_include_pad", True):
        return Rejection("it does not count padding")
    return _refuse_sizes(node) or _refuse_single(kernel, stride)


def _pool(
    low: Lowering, node: Node, result: Node, kind: type, window: tuple[list[int], ...], after: list[int] | None = None
) -> None:
    """Pool height and width as images, then depth as columns: maxima and means of equal parts are associative.

    window: kernel, stride and padding. after: the padding at the end of depth, height and width; None: as before them.
    """
    source = cast(Node, node.args[0])
    kernel, stride, padding = window
    places = list(result.meta["val"].shape[2:])
    value, bounds = low.read(source, VOLUMES), low.shape(source, VOLUMES)
    batch = source.meta["val"].shape[0]
    static_batch = batch if isinstance(batch, int) else None
    if kind is g.AvgPooling2d and any(padding):
        around = [0, *padding, 0]
        bounds = [size + 2 * more for size, more in zip(bounds, around, strict=True)]
        value = low.step(node, partial(g.StaticConstantPad, around, around, 0.0), value, shape=bounds)
        padding = [0, 0, 0]
    after = after or padding
    count, depth, height, width, channels = bounds
    if kernel[1:] != [1, 1]:
        images = [count * depth, height, width, channels]
        value = low.reshaped(node, value, [None if static_batch is None else images[0], *images[1:]], images)
        pool = partial(kind, *_sides(padding[1:], after[1:]), *kernel[1:], *stride[1:], 1, 1)
        value = low.step(node, pool, value, shape=[images[0], *places[1:], channels])
    if kernel[0] != 1:
        columns = [count, depth, places[1] * places[2], channels]
        value = low.reshaped(node, value, [static_batch, *columns[1:]], columns)
        pool = partial(kind, *_sides([padding[0], 0], [after[0], 0]), kernel[0], 1, stride[0], 1, 1, 1)
        value = low.step(node, pool, value, shape=[count, places[0], columns[2], channels])
    low.add(reshape(arranged(result.meta["val"].shape, VOLUMES), value, low.result(result, VOLUMES)), result)


def _sides(before: list[int], after: list[int]) -> tuple[int, int, int, int]:
    """Return the paddings above, to the right, below and to the left: the order of XNNPACK's nodes."""
    return before[0], after[1], after[0], before[1]


def _max(low: Lowering, node: Node) -> None:
    _pool(low, node, getitems_of(node)[0], g.MaxPooling2d, _window(node), _padding_after(node))


def _average(low: Lowering, node: Node) -> None:
    _pool(low, node, node, g.AvgPooling2d, _window(node))


def _refuse_adaptive(node: Node, program: ExportedProgram) -> Rejection | None:
    rejection = _refuse_sizes(node)
    if rejection:
        return rejection
    sizes, wanted = cast(Node, node.args[0]).meta["val"].shape[2:], node.meta["val"].shape[2:]
    even = all(size % parts == 0 for size, parts in zip(sizes, wanted, strict=True))
    return None if even else Rejection(f"{list(sizes)} are not multiples of {list(wanted)}")


def _adaptive(low: Lowering, node: Node) -> None:
    sizes, wanted = low.shape(cast(Node, node.args[0]))[2:], low.shape(node)[2:]
    kernel = [size // parts for size, parts in zip(sizes, wanted, strict=True)]
    _pool(low, node, node, g.AvgPooling2d, (kernel, kernel, [0, 0, 0]))


RULES: dict[str, Rule] = {
    "max_pool3d_with_indices.default": Rule(_max, _refuse_max),
    "avg_pool3d.default": Rule(_average, _refuse_average),
    "_adaptive_avg_pool3d.default": Rule(_adaptive, _refuse_adaptive),
}
