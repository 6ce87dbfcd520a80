# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""torchvision's operators that pool the pixels of regions run without kernels of their own, without regions too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest
import torch
from oracle.tolerances import LAYER
from oracle.torchvision_operators import boxes, define, pixel, run
from torch.export import Dim

_SIZES = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SCHEMA = f"(Tensor input, Tensor rois, {_SIZES}) -> (Tensor, Tensor)"
_ALIGN_SCHEMA = f"(Tensor input, Tensor rois, {_SIZES}, int sampling_ratio) -> (Tensor, Tensor)"
_Pair = tuple[torch.Tensor, torch.Tensor]


def _rounded(value: float) -> int:
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def _spans(first: float, last: float, bins: int, end_pixels: int, extent: int) -> list[range]:
    start = _rounded(first)
    size = max(_rounded(last) - start + end_pixels, 1) / bins
    return [
        range(*(min(max(start + edge, 0), extent) for edge in (math.floor(k * size), math.ceil((k + 1) * size))))
        for k in range(bins)
    ]


def _places(images: torch.Tensor, rois: torch.Tensor, height: int, width: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield regions, channels of the result, rows and columns of bins."""
    for k in range(len(rois)):
        for c in range(images.shape[1] // (height * width)):
            yield from ((k, c, i, j) for i in range(height) for j in range(width))


def _roi_pool(images: torch.Tensor, rois: torch.Tensor, scale: float, height: int, width: int) -> _Pair:
    out = torch.zeros(len(rois), images.shape[1], height, width)
    places = torch.full(out.shape, -1, dtype=torch.int32)
    for k, (image, x1, y1, x2, y2) in enumerate(rois.tolist()):
        rows = _spans(y1 * scale, y2 * scale, height, 1, images.shape[2])
        columns = _spans(x1 * scale, x2 * scale, width, 1, images.shape[3])
        for i in range(height):
            for j in range(width):
                for c in range(images.shape[1]) if rows[i] and columns[j] else ():
                    pixels = [(y, x) for y in rows[i] for x in columns[j]]
                    y, x = max(pixels, key=lambda at: float(images[int(image), c, at[0], at[1]]))
                    out[k, c, i, j], places[k, c, i, j] = images[int(image), c, y, x], y * images.shape[3] + x
    return out, places


def _ps_roi_pool(images: torch.Tensor, rois: torch.Tensor, scale: float, height: int, width: int) -> _Pair:
    out = torch.zeros(len(rois), images.shape[1] // (height * width), height, width)
    channels = torch.zeros(out.shape, dtype=torch.int32)
    for k, c, i, j in _places(images, rois, height, width):
        image, x1, y1, x2, y2 = rois[k].tolist()
        rows = _spans(y1 * scale, y2 * scale, height, 0, images.shape[2] - 1)[i]
        columns = _spans(x1 * scale, x2 * scale, width, 0, images.shape[3] - 1)[j]
        channels[k, c, i, j] = channel = (c * height + i) * width + j
        if rows and columns:
            bin_pixels = images[int(image), channel, rows.start : rows.stop, columns.start : columns.stop]
            out[k, c, i, j] = bin_pixels.mean()
    return out, channels


def _ps_roi_align(images: torch.Tensor, rois: torch.Tensor, scale: float, height: int, width: int, ratio: int) -> _Pair:
    out = torch.zeros(len(rois), images.shape[1] // (height * width), height, width)
    channels = torch.zeros(out.shape, dtype=torch.int32)
    for k, c, i, j in _places(images, rois, height, width):
        image, *corners = rois[k].tolist()
        x1, y1, x2, y2 = (corner * scale - 0.5 for corner in corners)
        high, wide = (y2 - y1) / height, (x2 - x1) / width
        rows, columns = (ratio, ratio) if ratio > 0 else (math.ceil(high), math.ceil(wide))
        channels[k, c, i, j] = channel = (c * height + i) * width + j
        samples = [
            pixel(
                images[int(image), channel : channel + 1],
                y1 + (i + (row + 0.5) / rows) * high,
                x1 + (j + (column + 0.5) / columns) * wide,
            )
            for row in range(rows)
            for column in range(columns)
        ]
        out[k, c, i, j] = torch.stack(samples).mean()
    return out, channels


def _fake_roi_pool(images: torch.Tensor, rois: torch.Tensor, scale: float, height: int, width: int) -> _Pair:
    out = images.new_empty(rois.size(0), images.size(1), height, width)
    return out, torch.empty_like(out, dtype=torch.int32)


def _fake_ps(images: torch.Tensor, rois: torch.Tensor, scale: float, height: int, width: int, ratio: int = 0) -> _Pair:
    out = images.new_empty(rois.size(0), images.size(1) // (height * width), height, width)
    return out, torch.empty_like(out, dtype=torch.int32)


define("roi_pool", _SCHEMA, _fake_roi_pool, _roi_pool)
define("ps_roi_pool", _SCHEMA, _fake_ps, _ps_roi_pool)
define("ps_roi_align", _ALIGN_SCHEMA, _fake_ps, _ps_roi_align)


def _calls(channels: int) -> list[tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    images = torch.randn(2, channels, 15, 20)
    regions = [torch.cat([torch.randint(2, (n, 1)).float(), boxes(n) - 8], 1) for n in (4, 0, 1)]
    larger = torch.tensor([[1.0, -40.0, -9.0, 70.0, 300.0]])  # than the image
    return [(images, one) for one in (*regions, larger)]


def _check(
    name: str, eager: Callable[..., _Pair], options: tuple[float, ...], calls: list[tuple[torch.Tensor, ...]]
) -> None:
    operator = getattr(torch.ops.torchvision, name)
    dims = ({}, {0: Dim.AUTO(min=0, max=8)})
    for part in (0, 1):
        found = run(lambda images, rois: operator(images, rois, *options)[part], calls, dims)  # noqa: B023
        for call, pooled in zip(calls, found, strict=True):
            torch.testing.assert_close(pooled, eager(*call, *options)[part], **LAYER)


@pytest.mark.sampled
@pytest.mark.parametrize("scale", [0.5, 0.25])
def test_roi_pool_takes_the_first_maximum_in_each_bin(scale: float) -> None:
    calls = [(images.round(), rois) for images, rois in _calls(3)]
    _check("roi_pool", _roi_pool, (scale, 3, 4), calls)


def test_roi_pool_skips_nan() -> None:
    images, rois = _calls(2)[0]
    images[:, 0, ::2] = math.nan
    (found,) = run(
        lambda images, rois: torch.ops.torchvision.roi_pool(images, rois, 0.5, 2, 2)[0], [(images, rois)], None
    )
    expected = _roi_pool(images.nan_to_num(nan=torch.finfo(torch.float32).min), rois, 0.5, 2, 2)[0]
    torch.testing.assert_close(found, expected, **LAYER)


@pytest.mark.sampled
@pytest.mark.parametrize("scale", [0.5, 0.25])
def test_ps_roi_pool_reads_other_channels_in_each_bin(scale: float) -> None:
    _check("ps_roi_pool", _ps_roi_pool, (scale, 3, 2), _calls(12))


@pytest.mark.sampled
@pytest.mark.parametrize("ratio", [2, -1])
def test_ps_roi_align_reads_other_channels_in_each_bin(ratio: int) -> None:
    _check("ps_roi_align", _ps_roi_align, (0.5, 3, 2, ratio), _calls(12))
