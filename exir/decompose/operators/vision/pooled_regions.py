# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompositions of torchvision's operators that pool the pixels of regions: `roi_pool`, `ps_roi_pool`, `ps_roi_align`.

Bins of the position-sensitive operators (ps) read different channels: of out * bins channels, bin b reads b, bins + b,
2 * bins + b, and so on.
"""

from __future__ import annotations

from functools import reduce

import torch

from executorch.exir.decompose.operators.vision.sampled_regions import pixel_weights, starts_and_bins
from executorch.exir.sym_util import upper_bound

Span = tuple[torch.Tensor, torch.Tensor]
"""The first pixel of each bin and the pixel after its last, [K, bins]. Both are equal in a bin without pixels."""

Maxima = tuple[torch.Tensor, torch.Tensor]
"""Values and their places in the image."""

_MAX_PIXELS = 1 << 16  # of rows or columns: for more, or without a bound, tables of maxima would be too large


def _rounded(value: torch.Tensor) -> torch.Tensor:
    """Round halves away from zero, as C does."""
    whole = value.trunc()
    return whole + (2 * (value - whole)).trunc()


def _pixel_spans(rois: torch.Tensor, axis: int, scale: float, bins: int, end_pixels: int, last: int) -> Span:
    """Return the pixels of bins along an axis, from 0 to `last`. end_pixels: 1 if regions contain their last pixel."""
    start, end = (_rounded(rois[:, corner + axis] * scale).unsqueeze(1) for corner in (1, 3))
    size = (end - start + end_pixels).clamp(min=1) / bins
    steps = torch.arange(bins + 1, dtype=rois.dtype) * size
    first = (start + steps[:, :-1].floor()).clamp(0, last)
    after = (start + steps[:, 1:].ceil()).clamp(0, last)
    return first.to(torch.int64), torch.maximum(first, after).to(torch.int64)


def _levels(extent: int) -> int | None:
    """Return the number of powers of 2 up to the largest extent, which a symbol may stand for; None without a bound."""
    bound = upper_bound(extent)
    return None if bound is None or bound > _MAX_PIXELS else bound.bit_length()


def _shifted(images: torch.Tensor, dim: int, by: int) -> torch.Tensor:
    """Return images whose pixels are those `by` places later, or the last pixel."""
    size = images.size(dim)
    return images.index_select(dim, (torch.arange(size) + by).clamp(max=size - 1))


def _larger(one: Maxima, other: Maxima) -> Maxima:
    """Return the larger value of each pair, and its place. If both are equal, the earlier place."""
    is_other = (other[0] > one[0]) | ((other[0] == one[0]) & (other[1] < one[1]))
    return torch.maximum(one[0], other[0]), torch.where(is_other, other[1], one[1])


def _maxima(pixels: Maxima, dim: int, levels: int) -> list[Maxima]:
    """Return, for each level, the maximum of 2 ** level pixels from each pixel on along `dim`."""
    found = [pixels]
    for level in range(levels - 1):
        values, places = (_shifted(part, dim, 2**level) for part in found[-1])
        found.append(_larger(found[-1], (values, places)))
    return found


def _two_runs(span: Span, levels: int, size: int) -> tuple[torch.Tensor, Span]:
    """Cover each span by two runs of pixels. Return their level and the first pixel of each run."""
    first, after = span
    length = after - first
    level = sum(((length >= 2**one).to(torch.int64) for one in range(1, levels)), torch.zeros_like(length))
    second = after - torch.bitwise_left_shift(torch.ones_like(level), level)
    return level, (first.clamp(max=size - 1), second.clamp(min=0))


def roi_pool(
    input: torch.Tensor,  # torchvision's names: a call may pass arguments by name
    rois: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
) -> object:
    """Return the maximum of each bin of each region and its place in the image, [K, C, pooled_height, pooled_width].

    input: [N, C, H, W]. rois: [K, 5], the number of an image and corners x1, y1, x2, y2. Maxima of 1, 2, 4, … rows and
    columns from each pixel on are computed once; the maximum of a bin is the largest of four of them.
    """
    pooled, extent = (pooled_height, pooled_width), input.shape[-2:]
    levels_y, levels_x = (_levels(size) for size in extent)
    if levels_y is None or levels_x is None:
        return NotImplemented
    least = max(torch.finfo(torch.float32).min, torch.finfo(input.dtype).min)
    values = torch.where(input.isnan(), least, input).clamp(min=least).permute(0, 2, 3, 1)
    places = (torch.arange(extent[0]).unsqueeze(1) * extent[1] + torch.arange(extent[1])).unsqueeze(-1)
    tables = [
        columns
        for rows in _maxima((values, places.expand(values.shape)), 1, levels_y)
        for columns in _maxima(rows, 2, levels_x)
    ]
    stacked = [torch.stack([table[part] for table in tables]) for part in (0, 1)]
    spans = [_pixel_spans(rois, 1 - axis, spatial_scale, pooled[axis], 1, extent[axis]) for axis in (0, 1)]
    (level_y, rows), (level_x, columns) = (
        _two_runs(span, levels, size) for span, levels, size in zip(spans, (levels_y, levels_x), extent, strict=True)
    )
    image = rois[:, 0].to(torch.int64).view(-1, 1, 1)
    level = level_y.unsqueeze(2) * levels_x + level_x.unsqueeze(1)
    found: list[Maxima] = []
    for y in rows:
        for x in columns:
            value, place = (table[level, image, y.unsqueeze(2), x.unsqueeze(1)] for table in stacked)
            found.append((value, place))
    value, place = reduce(_larger, found)
    empty_y, empty_x = (first == after for first, after in spans)
    empty = (empty_y.unsqueeze(2) | empty_x.unsqueeze(1)).unsqueeze(-1)
    place = torch.where(empty | (value == least), -1, place).to(torch.int32)
    value = torch.where(empty, 0.0, value)
    return value.permute(0, 3, 1, 2).contiguous(), place.permute(0, 3, 1, 2).contiguous()


def _pooled_channels(
    input: torch.Tensor, rois: torch.Tensor, y: torch.Tensor, x: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return [K, out, rows, columns] and the channel that each bin reads: sums of pixels by weights along the axes.

    input: [N, out * rows * columns, H, W]. y: [K, rows, H]. x: [K, columns, W].
    """
    rows, columns = y.size(1), x.size(1)
    of_image = rois[:, :1].to(torch.int64) == torch.arange(input.size(0))  # [K, N]
    in_rows = (y.unsqueeze(2) * of_image.unsqueeze(1).unsqueeze(-1)).transpose(0, 1)  # [rows, K, N, H]
    weights = in_rows.unsqueeze(1).unsqueeze(-1) * x.transpose(0, 1).unsqueeze(0).unsqueeze(3).unsqueeze(3)
    pixels = input.unflatten(1, (-1, rows * columns)).permute(2, 0, 3, 4, 1)  # [bins, N, H, W, out]
    pooled = torch.bmm(weights.flatten(0, 1).flatten(2), pixels.flatten(1, 3))
    channels = torch.arange(input.size(1), dtype=torch.int32).view(1, -1, rows, columns)
    found = pooled.permute(1, 2, 0).unflatten(2, (rows, columns)).contiguous()
    return found, channels.expand(found.shape).contiguous()


def ps_roi_pool(
    input: torch.Tensor, rois: torch.Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean of the pixels in each bin, [K, out, pooled_height, pooled_width], and the channels.

    The last row and column of an image are in no bin, as in torchvision.
    """
    weights = []
    for axis, bins in enumerate((pooled_height, pooled_width)):
        extent = input.size(2 + axis)
        first, after = (one.unsqueeze(-1) for one in _pixel_spans(rois, 1 - axis, spatial_scale, bins, 0, extent - 1))
        pixels = torch.arange(extent)
        inside = ((pixels >= first) & (pixels < after)).to(input.dtype)
        weights.append(inside / (after - first).clamp(min=1))
    return _pooled_channels(input, rois, *weights)


def ps_roi_align(
    input: torch.Tensor,
    rois: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean of bilinear samples in each bin, [K, out, pooled_height, pooled_width], and the channels.

    sampling_ratio: as for `roi_align`.
    """
    weights = []
    for axis, bins in enumerate((pooled_height, pooled_width)):
        start, size, bin_size = starts_and_bins(rois, 1 - axis, spatial_scale, bins, True)
        extent = input.size(2 + axis)
        count = torch.full_like(size, sampling_ratio) if sampling_ratio > 0 else torch.ceil(size / bins)
        # Regions without an area have no samples: their mean is NaN, as in torchvision.
        sums = pixel_weights(start, bin_size, bins, extent, count, max(sampling_ratio, 0))
        weights.append(sums / count.view(-1, 1, 1))
    return _pooled_channels(input, rois, *weights)
