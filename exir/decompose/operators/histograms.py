# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Histograms by values and by points (torch.histogram, torch.histogramdd).

A bin includes its left edge; the last bin includes its right edge too. Values outside the edges and NaN count nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch._ops import OpOverload

_aten = torch.ops.aten


def _edges(column: torch.Tensor, bins: int, limits: Sequence[float] | None) -> torch.Tensor:
    """Return bins + 1 edges at equal distances: within the limits, or from the least to the largest value."""
    if limits is None and column.numel() > 0:
        low, high = column.amin(), column.amax()
    else:
        low, high = (torch.full([], limit, dtype=column.dtype) for limit in limits or (0.0, 1.0))
    widening = torch.where(low == high, 0.5, 0.0).to(column.dtype)
    low, high = low - widening, high + widening
    place = torch.arange(bins + 1, dtype=column.dtype)
    step = (high - low) / bins
    return torch.where(place < (bins + 1) // 2, low + step * place, high - step * (bins - place))


def _count(
    columns: Sequence[torch.Tensor], edges: Sequence[torch.Tensor], weight: torch.Tensor | None, density: bool
) -> torch.Tensor:
    """Return the sum of the weights in each bin. columns: one coordinate of all points each; weight: 1 by default."""
    counts = [len(one) - 1 for one in edges]
    place = torch.zeros_like(columns[0], dtype=torch.int64)
    is_inside = torch.ones_like(place, dtype=torch.bool)
    for column, ends, count in zip(columns, edges, counts, strict=True):
        bin_of = torch.searchsorted(ends, column, right=True) - 1
        place = place * count + torch.clamp(bin_of, 0, count - 1)
        is_inside = is_inside & (column >= ends[0]) & (column <= ends[-1])
    weights = torch.ones_like(columns[0]) if weight is None else weight.reshape(-1)
    sums = torch.zeros(math.prod(counts), dtype=columns[0].dtype)
    sums = torch.scatter_add(sums, 0, place, torch.where(is_inside, weights, 0.0)).reshape(counts)
    if not density:
        return sums
    sums = sums / sums.sum()
    for dim, ends in enumerate(edges):
        sums = sums / torch.diff(ends).reshape([-1 if axis == dim else 1 for axis in range(len(edges))])
    return sums


def _columns(points: torch.Tensor) -> list[torch.Tensor]:
    """Return the coordinates of points [..., D], a vector for each of D."""
    return list(points.reshape(-1, points.shape[-1]).contiguous().unbind(-1))


def _edges_of_columns(
    self: torch.Tensor,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,
    weight: torch.Tensor | None = None,
    density: bool = False,
) -> list[torch.Tensor]:
    limits = [None] * len(bins) if range is None else list(zip(range[::2], range[1::2], strict=True))
    return [_edges(*one) for one in zip(_columns(self), bins, limits, strict=True)]


def _histogram_of_bins(
    self: torch.Tensor,
    bins: int = 100,
    *,
    range: Sequence[float] | None = None,
    weight: torch.Tensor | None = None,
    density: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    column = self.reshape(-1)
    edges = _edges(column, bins, range)
    return _count([column], [edges], weight, density), edges


def _histogram_of_edges(
    self: torch.Tensor, bins: torch.Tensor, *, weight: torch.Tensor | None = None, density: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    return _count([self.reshape(-1)], [bins], weight, density), torch.clone(bins)


def _count_of_bins(
    self: torch.Tensor,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,
    weight: torch.Tensor | None = None,
    density: bool = False,
) -> torch.Tensor:
    return _count(_columns(self), _edges_of_columns(self, bins, range=range), weight, density)


def _count_of_edges(
    self: torch.Tensor, bins: Sequence[torch.Tensor], *, weight: torch.Tensor | None = None, density: bool = False
) -> torch.Tensor:
    return _count(_columns(self), bins, weight, density)


HISTOGRAM_DECOMPOSITIONS: dict[OpOverload, Callable[..., object]] = {
    _aten.histogram.bin_ct: _histogram_of_bins,
    _aten.histogram.bins_tensor: _histogram_of_edges,
    _aten._histogramdd_bin_edges.default: _edges_of_columns,
    _aten._histogramdd_from_bin_cts.default: _count_of_bins,
    _aten._histogramdd_from_bin_tensors.default: _count_of_edges,
}
