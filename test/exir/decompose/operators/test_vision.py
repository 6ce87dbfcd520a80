# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""torchvision's operators run without kernels of their own, with no boxes or regions too."""

from __future__ import annotations

import math

import pytest
import torch
from oracle.tolerances import LAYER
from oracle.torchvision_operators import boxes, define, pixel, run
from torch import nn
from torch.export import Dim

_SCHEMAS = {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align": "(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio, bool aligned) -> Tensor",
    "deform_conv2d": "(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, "
    "SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
    "SymInt offset_groups, bool use_mask) -> Tensor",
}


def _nms(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    kept: list[int] = []
    for one in scores.sort(descending=True, stable=True).indices.tolist():
        if all(_overlap(dets[one].tolist(), dets[other].tolist()) <= iou_threshold for other in kept):
            kept.append(one)
    return torch.tensor(kept, dtype=torch.int64)


def _overlap(one: list[float], other: list[float]) -> float:
    width, height = (max(min(one[2 + a], other[2 + a]) - max(one[a], other[a]), 0.0) for a in (0, 1))
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return width * height / (areas - width * height)


def _fake_nms(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    return dets.new_empty(torch.library.get_ctx().new_dynamic_size(), dtype=torch.int64)


def _roi_align(
    images: torch.Tensor, rois: torch.Tensor, scale: float, height: int, width: int, ratio: int, aligned: bool
) -> torch.Tensor:
    out = torch.zeros(len(rois), images.shape[1], height, width)
    for k, (image, *corners) in enumerate(rois.tolist()):
        x1, y1, x2, y2 = (corner * scale - (0.5 if aligned else 0.0) for corner in corners)
        high, wide = (size if aligned else max(size, 1.0) for size in (y2 - y1, x2 - x1))
        rows, columns = (ratio, ratio) if ratio > 0 else (math.ceil(high / height), math.ceil(wide / width))
        for at in range(height * width):
            i, j = divmod(at, width)
            samples = [
                pixel(
                    images[int(image)],
                    y1 + (i + (row + 0.5) / rows) * high / height,
                    x1 + (j + (column + 0.5) / columns) * wide / width,
                )
                for row in range(rows)
                for column in range(columns)
            ]
            out[k, :, i, j] = torch.stack(samples).mean(0)
    return out


def _fake_roi_align(
    images: torch.Tensor, rois: torch.Tensor, scale: float, height: int, width: int, ratio: int, aligned: bool
) -> torch.Tensor:
    return images.new_empty(rois.size(0), images.size(1), height, width)


def _fake_deform_conv2d(images: torch.Tensor, weight: torch.Tensor, offset: torch.Tensor, *_: object) -> torch.Tensor:
    return images.new_empty(images.size(0), weight.size(0), *offset.shape[-2:])


define("nms", _SCHEMAS["nms"], _fake_nms, _nms)
define("roi_align", _SCHEMAS["roi_align"], _fake_roi_align, _roi_align)
define("deform_conv2d", _SCHEMAS["deform_conv2d"], _fake_deform_conv2d, None)


def test_nms_keeps_the_boxes_of_a_greedy_search_with_equal_scores_and_withoutboxes() -> None:
    torch.manual_seed(0)
    calls = [(boxes(count), (torch.rand(count) * 9).round()) for count in (7, 0, 1, 60)]
    dims = {0: Dim.AUTO(min=0, max=64)}
    found = run(lambda boxes, scores: torch.ops.torchvision.nms(boxes, scores, 0.4), calls, (dims, dims))
    for call, kept in zip(calls, found, strict=True):
        torch.testing.assert_close(kept, _nms(*call, 0.4))


def test_boxes_selected_by_their_scores_may_be_none() -> None:
    def select(boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        above = torch.where(scores > 0.5)[0]
        boxes, scores = boxes[above], scores[above]
        return boxes[torch.ops.torchvision.nms(boxes, scores, 0.4)]

    torch.manual_seed(0)
    found = boxes(20)
    calls = [(found, torch.rand(20)), (found, torch.zeros(20))]
    some, none = run(select, calls, None)
    torch.testing.assert_close(some, select(*calls[0]))
    torch.testing.assert_close(none, torch.empty(0, 4))


@pytest.mark.sampled
@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("ratio", [2, -1])
def test_roi_align_takes_regions_beyond_images_and_none(ratio: int, aligned: bool) -> None:
    torch.manual_seed(0)
    images = torch.randn(2, 3, 15, 20)
    calls = [(images, torch.cat([torch.randint(2, (n, 1)).float(), boxes(n) - 8], 1)) for n in (3, 0, 1)]
    options = (0.5, 3, 4, ratio, aligned)
    calls.append((images, torch.tensor([[1.0, -40.0, -9.0, 70.0, 300.0]])))
    dims = ({}, {0: Dim.AUTO(min=0, max=8)})
    found = run(lambda images, rois: torch.ops.torchvision.roi_align(images, rois, *options), calls, dims)
    for call, pooled in zip(calls, found, strict=True):
        torch.testing.assert_close(pooled, _roi_align(*call, *options), **LAYER)


@pytest.mark.sampled
@pytest.mark.parametrize("groups", [1, 2])
def test_deformable_convolution_samples_the_moved_image(groups: int) -> None:
    """Windows that all move by (1, -2) convolve the image moved so; a mask of 0.5 halves the samples."""
    torch.manual_seed(0)
    image, weight, bias = torch.randn(2, 4, 9, 8), torch.randn(6, 4 // groups, 3, 2), torch.randn(6)
    sizes = torch.conv2d(image, weight, bias, (2, 1), (1, 2), (1, 2), groups).shape[-2:]
    offset = torch.tensor([1.0, -2.0]).repeat(2, 2 * 6).view(2, 24, 1, 1).expand(2, 24, *sizes).contiguous()
    mask = torch.full((2, 12, *sizes), 0.5)

    def convolve(image: torch.Tensor, offset: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        options = (2, 1, 1, 2, 1, 2, groups, 2, True)
        return torch.ops.torchvision.deform_conv2d(image, weight, offset, mask, bias, *options)

    (found,) = run(convolve, [(image, offset, mask)], None)
    padded = nn.functional.pad(image, (4, 0, 0, 2))  # the first window starts in row 0, column -4
    wanted = torch.conv2d(padded, weight * 0.5, bias, (2, 1), 0, (1, 2), groups)[:, :, : sizes[0], : sizes[1]]
    torch.testing.assert_close(found[..., : wanted.shape[-1]], wanted, **LAYER)
