# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The dialect `channels_last`: ATen operators whose images are contiguous tensors of (batch, height, width, channels).

Importing the module registers the operators. Each runs ATen's operator between two permutes: a slow reference for
backends that replace it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.library import Library, register_fake

_aten = torch.ops.aten
lib = Library("channels_last", "DEF")

# Name → arguments after the image, ATen's operator on (batch, channels, height, width), number of results.
_OPERATORS: dict[str, tuple[str, Any, int]] = {
    "convolution": (
        "Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, "
        "int[] output_padding, int groups",
        _aten.convolution.default,
        1,
    ),
    "avg_pool2d": (
        "int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, "
        "int? divisor_override",
        _aten.avg_pool2d.default,
        1,
    ),
    "adaptive_avg_pool2d": ("int[2] output_size", _aten.adaptive_avg_pool2d.default, 1),
    "upsample_bilinear2d": (
        "int[]? output_size, bool align_corners, float[]? scale_factors",
        _aten.upsample_bilinear2d.vec,
        1,
    ),
    "upsample_nearest2d": ("int[]? output_size, float[]? scale_factors", _aten.upsample_nearest2d.vec, 1),
    "max_pool2d_with_indices": (
        "int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode",
        _aten.max_pool2d_with_indices.default,
        2,
    ),
    "grid_sampler_2d": (
        "Tensor grid, int interpolation_mode, int padding_mode, bool align_corners",
        _aten.grid_sampler_2d.default,
        1,
    ),
}


def _channels_last(images: torch.Tensor) -> torch.Tensor:
    return images.permute(0, 2, 3, 1).contiguous()


def _between_permutes(operator: Any) -> Callable[..., Any]:
    def run(input: torch.Tensor, *args: Any) -> Any:
        results = operator(input.permute(0, 3, 1, 2), *args)
        return tuple(map(_channels_last, results)) if isinstance(results, tuple) else _channels_last(results)

    return run


def _permute_copy(input: torch.Tensor, dims: list[int]) -> torch.Tensor:
    return torch.permute_copy(input, dims).contiguous()


def _register(name: str, schema: str, function: Callable[..., Any]) -> None:
    lib.define(f"{name}{schema}")
    lib.impl(name, function, "CompositeExplicitAutograd")
    register_fake(f"channels_last::{name}", function, lib=lib)


for _name, (_arguments, _operator, _results) in _OPERATORS.items():
    _returns = "Tensor" if _results == 1 else f"({', '.join(['Tensor'] * _results)})"
    _register(_name, f"(Tensor input, {_arguments}) -> {_returns}", _between_permutes(_operator))
_register("permute_copy", "(Tensor input, int[] dims) -> Tensor", _permute_copy)
