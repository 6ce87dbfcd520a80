# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Values and layers that are quantized and dequantized again, as a quantizer leaves them in a graph."""

from collections.abc import Callable

import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed
from torch import nn

ops = torch.ops.quantized_decomposed


def as_integers(
    x: torch.Tensor, scale: float = 0.03, zero: int = 3, dtype: torch.dtype = torch.int8, least: int | None = None
) -> torch.Tensor:
    limits = torch.iinfo(dtype)
    parameters = (scale, zero, limits.min if least is None else least, limits.max, dtype)
    return ops.dequantize_per_tensor(ops.quantize_per_tensor(x, *parameters), *parameters)


class QuantizedLayer(nn.Module):
    """A layer whose weights are integers: per channel of dimension `axis`, or per tensor."""

    def __init__(self, layer: nn.Module, call: Callable[..., torch.Tensor], axis: int | None, most: int = 127) -> None:
        super().__init__()
        weight = layer.weight.detach()
        self.axis, self.most, self.call = axis, most, call
        dims = [dim for dim in range(weight.dim()) if dim != axis]
        scales = weight.abs().amax(dims) / most
        shape = [1] * weight.dim()
        if axis is not None:
            shape[axis] = -1
        self.register_buffer("integers", (weight / scales.reshape(shape)).round().to(torch.int8))
        self.register_buffer("scales", scales)
        self.register_buffer("zeros", torch.zeros_like(scales, dtype=torch.int64))
        self.bias = None if layer.bias is None else nn.Parameter(layer.bias.detach())
        self.scale = float(scales.max())

    def weight(self) -> torch.Tensor:
        limits = (-self.most - (self.most < 127), self.most, torch.int8)
        if self.axis is None:
            return ops.dequantize_per_tensor(self.integers, self.scale, 0, *limits)
        return ops.dequantize_per_channel(self.integers, self.scales, self.zeros, self.axis, *limits)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.call(x, self.weight(), self.bias)
