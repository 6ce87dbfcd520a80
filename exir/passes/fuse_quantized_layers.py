# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Layers with weights, quantized: convolution and linear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from executorch.exir.passes.fusion_site import Build, Constants, Site, aten
from executorch.exir.passes.node_rewrite import argument
from executorch.exir.passes.quantized_values import (
    Quantization,
    integers_behind,
    is_dequantize,
    operand,
    operator,
)

# Sums of so many products of int8 fit int32 (kernels/quantized/integer_loops.h).
_MOST_TERMS = (1 << 17) - 1


@dataclass(frozen=True)
class Weights:
    """node, integers: int8, [channels, …]. scales: float64, one for each channel."""

    node: fx.Node
    integers: torch.Tensor
    scales: torch.Tensor


def convolution(site: Site) -> Build | str:
    node = site.core
    if argument(node, "transposed"):
        return "transposed convolutions have no fused operator"
    source: Any = argument(node, "input")
    weights = _weights(site.constants, argument(node, "weight"))
    arguments = [list(argument(node, name)) for name in ("stride", "padding", "dilation")]
    return _layer(site, source, weights, argument(node, "bias"), arguments)


def linear(site: Site) -> Build | str:
    """addmm and mm with a transposed weight, as linear layers are decomposed to, and linear itself."""
    node = site.core
    if operator(node) == "aten::linear":
        source, weight, bias = (argument(node, name) for name in ("input", "weight", "bias"))
        if list(source.meta["val"].dim_order()) != list(range(source.meta["val"].dim())):
            return "its operand is not contiguous"
    else:
        is_sum = operator(node) == "aten::addmm"
        if is_sum and (argument(node, "alpha"), argument(node, "beta")) != (1, 1):
            return "its factors are not 1"
        names = ("mat1", "mat2", "self") if is_sum else ("self", "mat2")
        source, transposed, *rest = (argument(node, name) for name in names)
        bias = rest[0] if rest else None
        if getattr(transposed, "target", None) is not aten.permute_copy.default:
            return "its second operand is no transposed weight"
        weight = transposed.args[0]
    return _layer(site, source, _weights(site.constants, weight), bias, None)


def _weights(constants: Constants, node: Any) -> Weights | str:
    if not is_dequantize(node):
        return "its weights are not quantized"
    integers: Any = argument(node, "input")
    tensor = constants.value(integers)
    if tensor is None:
        return "its weights are computed while running"
    if tensor.dtype is not torch.int8 or argument(node, "dtype") is not torch.int8:
        return f"its weights are {tensor.dtype}, and fused operators take torch.int8"
    kind = operator(node).removeprefix("quantized_decomposed::dequantize_per_").removesuffix(".default")
    if kind == "tensor":
        scales, zeros = torch.tensor([argument(node, "scale")]), torch.tensor([argument(node, "zero_point")])
    elif kind == "channel" and argument(node, "axis") == 0:
        found = [constants.value(argument(node, name)) for name in ("scales", "zero_points")]
        if found[0] is None:
            return "the scales of its weights are computed while running"
        scales, zeros = found[0], torch.zeros(1) if found[1] is None else found[1]
    else:
        return f"its weights have scales per {kind}, and fused operators take one for each output channel"
    if bool(zeros.any()):
        return "its weights are not symmetric: they have zero points"
    if tensor.numel() > _MOST_TERMS * tensor.shape[0] or tensor.numel() == 0:
        return f"its weights {list(tensor.shape)} are beyond what int32 sums, or none"
    return Weights(integers, tensor, scales.double().expand(tensor.shape[0]))


def _layer(
    site: Site, source: Any, weights: Weights | str, bias: Any, arguments: list[list[int]] | None
) -> Build | str:
    of = operand(source)
    for each in (of, weights):
        if isinstance(each, str):
            return each
    assert isinstance(of, Quantization) and isinstance(weights, Weights)
    addend = torch.zeros(1) if bias is None else site.constants.value(bias)
    if addend is None or addend.numel() not in (1, weights.integers.shape[0]) or addend.dim() > 1:
        return "its bias is no constant of one number for each output channel"
    scales = of.scale * weights.scales / site.to.scale
    sums = weights.integers.double().flatten(1).sum(1)
    offsets = addend.double().reshape(-1) / site.to.scale - scales * of.zero * sums

    def build() -> fx.Node:
        constants = site.constants
        contiguous = weights.integers.is_contiguous() and weights.node.op == "placeholder"
        weight = weights.node if contiguous else constants.add("_fused_weight", weights.integers, site.core)
        made = [
            constants.add("_fused_scales", scales.float(), site.core),
            constants.add("_fused_offsets", offsets.float(), site.core),
        ]
        input = integers_behind(source, site.quantize)
        if arguments is None:
            return site.call("linear", input, weight, *made, *site.result)
        groups = argument(site.core, "groups")
        return site.call("convolution", input, of.zero, weight, *made, *arguments, groups, *site.result)

    return build
