# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompositions of torchvision's operators that sample images: `roi_align` and `deform_conv2d`."""

from __future__ import annotations

import torch

_BILINEAR, _ZEROS = 0, 0  # torch's enumerations of grid_sample


def _sample(images: torch.Tensor, y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return bilinear samples [N, C, *places] at positions in pixels; pixels outside of an image count as 0.

    images: [N, C, H, W]. y, x: [N, rows, columns].
    """
    height, width = images.shape[-2:]
    grid = torch.stack(((2 * x + 1) / width - 1, (2 * y + 1) / height - 1), -1)
    return torch.ops.aten.grid_sampler(images, grid, _BILINEAR, _ZEROS, False)  # type: ignore[no-any-return]


def starts_and_bins(
    rois: torch.Tensor, axis: int, scale: float, bins: int, aligned: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the first coordinates of regions along an axis, their sizes, and the sizes of their bins: [K] each."""
    start = rois[:, 1 + axis] * scale - (0.5 if aligned else 0.0)
    size = rois[:, 3 + axis] * scale - (0.5 if aligned else 0.0) - start
    if not aligned:
        size = size.clamp(min=1.0)
    return start, size, size / bins


def roi_align(
    input: torch.Tensor,  # torchvision's names: a call may pass arguments by name
    rois: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> torch.Tensor:
    """Return [K, C, pooled_height, pooled_width]: the mean of bilinear samples in each bin of each region.

    input: [N, C, H, W]. rois: [K, 5], the number of an image and corners x1, y1, x2, y2. With a sampling_ratio of 0 or
    less, a bin has as many samples along an axis as the pixels that it covers, rounded up.
    """
    pooled, extent = (pooled_height, pooled_width), input.shape[-2:]
    axes = [starts_and_bins(rois, 1 - axis, spatial_scale, pooled[axis], aligned) for axis in (0, 1)]
    image = rois[:, 0].to(torch.int64)
    if sampling_ratio <= 0:
        y, x = (_weights(*axes[axis], pooled[axis], extent[axis]) for axis in (0, 1))
        return y.unsqueeze(1) @ input[image] @ x.unsqueeze(1).transpose(-2, -1)
    places = []
    for (start, _, bin_size), bins in zip(axes, pooled, strict=True):
        steps = (torch.arange(bins * sampling_ratio, dtype=input.dtype) + 0.5) / sampling_ratio
        places.append(start.unsqueeze(-1) + steps * bin_size.unsqueeze(-1))  # [K, bins * ratio]
    (y, x), (height, width) = places, extent
    inside = _inside(y, height).unsqueeze(2) & _inside(x, width).unsqueeze(1)
    # The images stand below one another as one image: samples stay in the rows of theirs.
    stacked = input.transpose(0, 1).reshape(1, input.size(1), -1, width)
    rows = (y.clamp(0, height - 1) + (image * height).unsqueeze(-1)).unsqueeze(2)
    columns = x.clamp(0, width - 1).unsqueeze(1)
    rows, columns = torch.broadcast_tensors(rows, columns)  # [K, rows, columns]
    sampled = _sample(stacked, *(one.reshape(1, -1, columns.size(2)) for one in (rows, columns)))
    sampled = sampled.view(input.size(1), -1, *inside.shape[1:]) * inside
    split = sampled.view(input.size(1), -1, pooled_height, sampling_ratio, pooled_width, sampling_ratio)
    return split.mean((3, 5)).transpose(0, 1).contiguous()


def _inside(place: torch.Tensor, size: int) -> torch.Tensor:
    return (place >= -1.0) & (place <= size)


def pixel_weights(
    start: torch.Tensor, bin_size: torch.Tensor, bins: int, extent: int, count: torch.Tensor, fixed_count: int = 0
) -> torch.Tensor:
    """Return the sum of the bilinear weights of a bin's samples for each pixel, [K, bins, extent].

    count: of samples in a bin, [K]: the same number in all, fixed_count, or one for each pixel that the bin covers.
    """
    max_samples = fixed_count or extent + 5
    count = count.view(-1, 1, 1)
    distance = bin_size.view(-1, 1, 1) / count.clamp(min=1.0)  # of samples
    first_place = start.view(-1, 1, 1) + torch.arange(bins, dtype=start.dtype).view(-1, 1) * bin_size.view(-1, 1, 1)
    # More samples are almost a pixel apart. After those before the image, `max_samples` contain all samples inside.
    outside = torch.where(count > max_samples, ((-1.0 - first_place) / distance - 0.5).floor().clamp(min=0), 0.0)
    samples = outside + torch.arange(max_samples, dtype=start.dtype)
    place = first_place + (samples + 0.5) * distance
    counted = _inside(place, extent) & (samples < count)
    pixels = torch.arange(extent, dtype=start.dtype)
    weights = (1 - (place.clamp(0, extent - 1).unsqueeze(-1) - pixels).abs()).clamp(min=0) * counted.unsqueeze(-1)
    return weights.sum(2)


def _weights(start: torch.Tensor, size: torch.Tensor, bin_size: torch.Tensor, bins: int, extent: int) -> torch.Tensor:
    count = torch.ceil(size / bins)
    return pixel_weights(start, bin_size, bins, extent, count) / count.clamp(min=1.0).view(-1, 1, 1)


def deform_conv2d(
    input: torch.Tensor,  # torchvision's names: a call may pass arguments by name
    weight: torch.Tensor,
    offset: torch.Tensor,
    mask: torch.Tensor,
    bias: torch.Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> torch.Tensor:
    """Return a convolution whose windows sample the image at positions that `offset` moves.

    input: [N, C, H, W]. offset: [N, offset_groups * taps * 2, out_h, out_w], y and x for each tap. mask: a factor for
    each sample, [N, offset_groups * taps, out_h, out_w].
    """
    batch, channels = input.shape[:2]
    kernel_h, kernel_w = weight.shape[-2:]
    taps = kernel_h * kernel_w
    out_h, out_w = offset.shape[-2:]
    moved = offset.reshape(batch * offset_groups, kernel_h, kernel_w, 2, out_h, out_w)
    y = _taps(kernel_h, dilation_h, input.dtype).view(-1, 1, 1, 1) + _firsts(out_h, stride_h, pad_h, input).view(-1, 1)
    x = _taps(kernel_w, dilation_w, input.dtype).view(-1, 1, 1) + _firsts(out_w, stride_w, pad_w, input)
    images = input.reshape(batch * offset_groups, channels // offset_groups, *input.shape[-2:])
    places = [(moved[:, :, :, axis] + at).reshape(-1, taps * out_h, out_w) for axis, at in enumerate((y, x))]
    sampled = _sample(images, *places).view(batch, offset_groups, -1, taps, out_h * out_w)
    if use_mask:
        sampled = sampled * mask.reshape(batch, offset_groups, 1, taps, out_h * out_w)
    columns = sampled.reshape(batch, groups, -1, out_h * out_w)
    out = torch.matmul(weight.reshape(1, groups, weight.size(0) // groups, -1), columns)
    return out.view(batch, -1, out_h, out_w) + bias.view(-1, 1, 1)


def _taps(count: int, dilation: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.arange(count, dtype=dtype) * dilation


def _firsts(count: int, stride: int, padding: int, like: torch.Tensor) -> torch.Tensor:
    """Return the first pixel of each window."""
    return torch.arange(count, dtype=like.dtype) * stride - padding
