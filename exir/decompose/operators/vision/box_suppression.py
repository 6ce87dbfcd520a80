# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompose `torchvision::nms` to a loop over matrices.

A box is kept unless a kept box with a higher score overlaps it too much. All boxes begin as kept; each iteration
applies this rule to all boxes at once. It ends when nothing changes, after as many iterations as the longest chain
of boxes that suppress one another, because iteration i settles boxes whose chain has i boxes.
"""

from __future__ import annotations

import torch


def nms(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    """Return the positions of kept boxes by descending score. dets: [N, 4] corners x1, y1, x2, y2. scores: [N]."""
    order: torch.Tensor = torch.ops.aten.sort.stable(scores, stable=True, dim=0, descending=True)[1]
    overlapping = _overlaps(dets[order]) > iou_threshold
    ranks = torch.arange(dets.size(0))
    suppresses = overlapping & (ranks.unsqueeze(1) < ranks)
    changed = torch.ones([], dtype=torch.bool)
    kept = torch.ones_like(scores, dtype=torch.bool)
    _, kept = torch.ops.higher_order.while_loop(_has_changed, _apply_rule, (changed, kept), (suppresses,))
    return order[kept]


def _overlaps(boxes: torch.Tensor) -> torch.Tensor:
    """Return the intersection over union of each pair, [N, N]."""
    low, high = boxes[:, :2], boxes[:, 2:]
    sides = (torch.minimum(high.unsqueeze(1), high) - torch.maximum(low.unsqueeze(1), low)).clamp(min=0)
    intersection = sides[..., 0] * sides[..., 1]
    area = (high[:, 0] - low[:, 0]) * (high[:, 1] - low[:, 1])
    return intersection / (area.unsqueeze(1) + area - intersection)


def _has_changed(changed: torch.Tensor, kept: torch.Tensor, suppresses: torch.Tensor) -> torch.Tensor:
    return changed.clone()


def _apply_rule(changed: torch.Tensor, kept: torch.Tensor, suppresses: torch.Tensor) -> tuple[torch.Tensor, ...]:
    following = torch.logical_not((suppresses & kept.unsqueeze(1)).any(0))
    return (following != kept).any(), following
