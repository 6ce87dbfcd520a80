# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators `quantized_fused::…` on int8, each of which replaces dequantize, compute, quantize.

These implementations define the kernels' results bit by bit (kernels/quantized): the sums of integer products are
exact; float32(sum) * scale + offset, in float32 with a rounding after each step, is rounded to an integer (half to
even); the zero point is added; quant_min and quant_max clamp the result. The float pattern rounds its sums, so its
results can differ by one where a value is within about 1e-5 of the middle of two integers.

`scales` and `offsets` (float32, one for each output channel) are made ahead of time from the pattern's parameters:
scale = s_x * s_w / s_y, offset = bias / s_y - scale * z_x * Σw; a transposed convolution takes z_x off its operand
itself, and offset = bias / s_y. Weights are symmetric: their zero points are 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from executorch.exir.operator.quantized import decomposed

NAMESPACE = "quantized_fused"
_YAML = Path(__file__).resolve().parents[2] / "kernels" / "quantized" / "functions.yaml"
_SCHEMA = re.compile(
    rf"^- func: {NAMESPACE}::((\w+)\.out\((.*), \*, Tensor\(a!\) out\) -> Tensor\(a!\))$", re.MULTILINE
)

library = torch.library.Library(NAMESPACE, "DEF")


def rounded(values: torch.Tensor, zero_point: int, quant_min: int, quant_max: int) -> torch.Tensor:
    """Quantize float32 values, which are already divided by the scale, to int8."""
    return (torch.round(values) + zero_point).clamp(quant_min, quant_max).to(torch.int8)


def _sums(input: torch.Tensor, weight: torch.Tensor, *shape: object) -> torch.Tensor:
    """Convolve without bias. shape: the arguments of `aten.convolution` after the bias."""
    sums: torch.Tensor = torch.ops.aten.convolution(input, weight, None, *shape)
    return sums


def _requantized(sums: torch.Tensor, scales: torch.Tensor, offsets: torch.Tensor, *out: int) -> torch.Tensor:
    """Requantize exact sums to int8. Dimension 1 is the channels."""
    per_channel = [-1, *[1] * (sums.dim() - 2)]
    return rounded(sums.float() * scales.reshape(per_channel) + offsets.reshape(per_channel), *out)


def _convolution(
    input: torch.Tensor,
    input_zero_point: int,
    weight: torch.Tensor,
    scales: torch.Tensor,
    offsets: torch.Tensor,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    *out: int,
) -> torch.Tensor:
    zeros = [0] * (weight.dim() - 2)
    sizes = list(padding) * (len(zeros) // len(padding))
    sides = [side for size in reversed(sizes) for side in (size, size)]
    padded = torch.nn.functional.pad(input.double(), sides, value=float(input_zero_point))
    sums = _sums(padded, weight.double(), stride, zeros, dilation, False, zeros, groups)
    return _requantized(sums, scales, offsets, *out)


def _transposed_convolution(
    input: torch.Tensor,
    input_zero_point: int,
    weight: torch.Tensor,
    scales: torch.Tensor,
    offsets: torch.Tensor,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    output_padding: list[int],
    groups: int,
    *out: int,
) -> torch.Tensor:
    centred = input.double() - input_zero_point
    sums = _sums(centred, weight.double(), stride, padding, dilation, True, output_padding, groups)
    return _requantized(sums, scales, offsets, *out)


def _convolution_fake(input: torch.Tensor, zero: int, weight: torch.Tensor, *arguments: object) -> torch.Tensor:
    stride, padding, dilation, groups = arguments[2:6]
    shape = (stride, padding, dilation, False, [0] * (weight.dim() - 2), groups)
    return _sums(input.float(), weight.float(), *shape).to(torch.int8)


def _transposed_convolution_fake(
    input: torch.Tensor, zero: int, weight: torch.Tensor, *arguments: object
) -> torch.Tensor:
    stride, padding, dilation, output_padding, groups = arguments[2:7]
    shape = (stride, padding, dilation, True, output_padding, groups)
    return _sums(input.float(), weight.float(), *shape).to(torch.int8)


def _linear(
    input: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor, offsets: torch.Tensor, *out: int
) -> torch.Tensor:
    sums = (input.double() @ weight.double().t()).float()
    return rounded(sums * scales + offsets, *out)


def _linear_fake(
    input: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor, offsets: torch.Tensor, *out: int
) -> torch.Tensor:
    return input.new_empty([*input.shape[:-1], weight.shape[0]])


def _product(input: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return (input.double() @ weight.double().t()).to(torch.int32)


def _product_fake(input: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return input.new_empty([input.shape[0], weight.shape[0]], dtype=torch.int32)


def _lookup(input: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    first = torch.iinfo(input.dtype).min
    return torch.empty_like(input, dtype=table.dtype).copy_(table[input.long() - first])


def _lookup_fake(input: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(input, dtype=table.dtype)


def _max_pool2d(input: torch.Tensor, *arguments: object) -> torch.Tensor:
    result: torch.Tensor = torch.ops.aten.max_pool2d_with_indices(input.float(), *arguments)[0]
    return result.to(torch.int8)


def _avg_pool2d(input: torch.Tensor, input_zero_point: int, scale: float, *arguments: Any) -> torch.Tensor:
    *pooling, divisor = arguments[:6]
    real = input.double() - input_zero_point
    sums = torch.ops.aten.avg_pool2d(real, *pooling, 1).float()
    # Number of elements of each window, from the means of ones.
    counts = _window_sizes(torch.ones_like(real), pooling) if divisor is None else torch.tensor(float(divisor))
    return rounded(sums * (torch.tensor(scale, dtype=torch.float32) / counts), *arguments[6:])


def _window_sizes(ones: torch.Tensor, pooling: list[object]) -> torch.Tensor:
    sums = torch.ops.aten.avg_pool2d(ones, *pooling, 1)
    means = torch.ops.aten.avg_pool2d(ones, *pooling, None)
    return torch.round(sums / means).float()


def _avg_pool2d_fake(input: torch.Tensor, input_zero_point: int, scale: float, *arguments: object) -> torch.Tensor:
    result: torch.Tensor = torch.ops.aten.avg_pool2d(input.float(), *arguments[:6])
    return result.to(torch.int8)


def _mean(
    input: torch.Tensor, input_zero_point: int, scale: float, dim: list[int], keepdim: bool, *out: int
) -> torch.Tensor:
    sums = (input.long() - input_zero_point).sum(dim, keepdim)
    count = max(input.numel() // max(sums.numel(), 1), 1)
    factor = torch.tensor(scale, dtype=torch.float32) / torch.tensor(float(count))
    return rounded(sums.float() * factor, *out)


def _mean_fake(
    input: torch.Tensor, input_zero_point: int, scale: float, dim: list[int], keepdim: bool, *out: int
) -> torch.Tensor:
    return torch.mean(input.float(), dim, keepdim).to(torch.int8)


def _combined(operator: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return a binary operator that dequantizes, computes and quantizes."""

    def compute(a: torch.Tensor, *parameters: Any) -> torch.Tensor:
        left = decomposed.dequantize_per_tensor(a, *parameters[:4], a.dtype)
        right = decomposed.dequantize_per_tensor(parameters[4], *parameters[5:9], parameters[4].dtype)
        result: torch.Tensor = decomposed.quantize_per_tensor(operator(left, right), *parameters[9:], a.dtype)
        return result

    return compute


def _combined_fake(a: torch.Tensor, *parameters: Any) -> torch.Tensor:
    return a.new_empty(torch.broadcast_shapes(a.shape, parameters[4].shape))


_IMPLEMENTATIONS: dict[str, tuple[Callable[..., torch.Tensor], Callable[..., torch.Tensor]]] = {
    "avg_pool2d": (_avg_pool2d, _avg_pool2d_fake),
    "convolution": (_convolution, _convolution_fake),
    "linear": (_linear, _linear_fake),
    "lookup": (_lookup, _lookup_fake),
    "max_pool2d": (_max_pool2d, _max_pool2d),
    "mean": (_mean, _mean_fake),
    "mul": (_combined(torch.mul), _combined_fake),
    "product": (_product, _product_fake),
    "sub": (_combined(torch.sub), _combined_fake),
    "transposed_convolution": (_transposed_convolution, _transposed_convolution_fake),
}


def _written(compute: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return an out variant for eager mode, which copies the functional variant's result."""

    def write(*args: object, out: torch.Tensor) -> torch.Tensor:
        result = compute(*args)
        return out.resize_(result.shape).copy_(result)

    return write


def _given(*_: object, out: torch.Tensor) -> torch.Tensor:
    return out


def _define() -> None:
    for schema, name, arguments in _SCHEMA.findall(_YAML.read_text()):
        compute, fake = _IMPLEMENTATIONS[name]
        library.define(f"{name}({arguments}) -> Tensor")
        library.define(schema)
        library.impl(name, compute, "CompositeExplicitAutograd")
        library.impl(f"{name}.out", _written(compute), "CompositeExplicitAutograd")
        torch.library.register_fake(f"{NAMESPACE}::{name}", fake, lib=library)
        torch.library.register_fake(f"{NAMESPACE}::{name}.out", _given, lib=library)


_define()
