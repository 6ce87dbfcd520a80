# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Max pooling of windows at random positions (torch.nn.FractionalMaxPool2d and 3d).

Along an axis of n elements, for m windows of k elements and a sample u in [0, 1):

    step = (n - k) / (m - 1)        start[i] = floor((i + u) * step) - floor(u * step)        start[m - 1] = n - k
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch._ops import OpOverload

_aten = torch.ops.aten


def _starts(samples: torch.Tensor, size: int, count: int, window: int) -> torch.Tensor:
    """Return the window starts, int64 [N, C, count]. samples: [N, C]."""
    last = torch.full([*samples.shape, 1], size - window, dtype=torch.int64)
    if count == 1:
        return last
    step = (size - window) / (count - 1)
    places = torch.arange(count - 1, dtype=samples.dtype)
    samples = samples.unsqueeze(-1)
    starts = ((places + samples) * step).to(torch.int64) - (samples * step).to(torch.int64)
    return torch.cat([starts, last], -1)


def _fractional_max_pool(
    x: torch.Tensor, kernel_size: list[int], output_size: list[int], samples: torch.Tensor, axes: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the maxima and their int64 positions in the plane. x: [N, C, *sizes] or [C, *sizes]."""
    has_batch = x.dim() == axes + 2
    if not has_batch:
        x = x.unsqueeze(0)
    sizes = list(x.shape[2:])
    windows = x
    place = torch.zeros([], dtype=torch.int64)
    for axis in range(axes):
        # Samples are in the order of the axes for three axes, and in reverse order for two.
        sample = samples[..., axes - 1 - axis if axes == 2 else axis]
        starts = _starts(sample, sizes[axis], output_size[axis], kernel_size[axis])
        index = (starts.unsqueeze(-1) + torch.arange(kernel_size[axis])).flatten(2)
        shape = [1] * windows.dim()
        shape[:2] = index.shape[:2]
        shape[axis + 2] = -1
        index = index.reshape(shape)
        windows = torch.gather(
            windows,
            axis + 2,
            index.expand([*windows.shape[: axis + 2], index.shape[axis + 2], *windows.shape[axis + 3 :]]),
        )
        place = place * sizes[axis] + index
    split = [part for m, k in zip(output_size, kernel_size, strict=True) for part in (m, k)]
    order = [0, 1, *range(2, 2 + 2 * axes, 2), *range(3, 3 + 2 * axes, 2)]

    def by_window(value: torch.Tensor) -> torch.Tensor:
        return value.expand(windows.shape).reshape([*x.shape[:2], *split]).permute(order).flatten(2 + axes)

    maxima, chosen = torch.max(by_window(windows), -1)
    places = torch.gather(by_window(place), -1, chosen.unsqueeze(-1)).squeeze(-1)
    return (maxima, places) if has_batch else (maxima.squeeze(0), places.squeeze(0))


def _of_axes(axes: int) -> Callable[..., object]:
    def decomposition(
        x: torch.Tensor, kernel_size: list[int], output_size: list[int], random_samples: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return _fractional_max_pool(x, kernel_size, output_size, random_samples, axes)

    return decomposition


FRACTIONAL_POOLING_DECOMPOSITIONS: dict[OpOverload, Callable[..., object]] = {
    _aten.fractional_max_pool2d.default: _of_axes(2),
    _aten.fractional_max_pool3d.default: _of_axes(3),
}
