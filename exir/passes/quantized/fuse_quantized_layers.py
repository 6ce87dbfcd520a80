# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fusion of quantized layers with weights: convolution, transposed convolution and linear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.fx.node import Argument

from executorch.exir.error import Rejection
from executorch.exir.rewrite.fusion_site import Constants, Fusion, Site, aten
from executorch.exir.rewrite.node_rewrite import argument
from executorch.exir.rewrite.quantized_values import is_dequantize, operand, operator

# int32 holds the sum of this many products of two int8 (kernels/quantized/int8/integer_loops.h), or of int8 with int8
# minus a zero point (kernels/quantized/conv/transposed.cpp).
_MAX_TERMS = (1 << 17) - 1
_MAX_CENTERED_TERMS = (1 << 16) - 1


@dataclass(frozen=True)
class Weights:
    """Constant int8 weights.

    node: has the value `integers`. scales: float64, one for each channel. sums: of each channel's integers, float64.
    """

    node: fx.Node
    integers: torch.Tensor
    scales: torch.Tensor
    sums: torch.Tensor


def convolution(site: Site) -> Fusion | Rejection:
    """Fuse a convolution between dequantize and quantize into a convolution of int8."""
    return _convolution(site, "convolution", ("stride", "padding", "dilation", "groups"))


def transposed_convolution(site: Site) -> Fusion | Rejection:
    """Fuse a transposed convolution between dequantize and quantize into one of int8."""
    names = ("stride", "padding", "dilation", "output_padding", "groups")
    return _convolution(site, "transposed_convolution", names, argument(site.core, "groups"))


def _convolution(site: Site, name: str, names: tuple[str, ...], groups_of_inputs: int = 0) -> Fusion | Rejection:
    node = site.core
    weights = _weights(site.constants, argument(node, "weight"), groups_of_inputs)
    arguments = tuple(argument(node, name) for name in names)
    return _layer(site, name, argument(node, "input"), weights, argument(node, "bias"), arguments)


def linear(site: Site) -> Fusion | Rejection:
    """Match linear, and its decompositions: addmm and mm with a transposed weight."""
    node = site.core
    if operator(node) == "aten::linear":
        source, weight, bias = (argument(node, name) for name in ("input", "weight", "bias"))
        if list(source.meta["val"].dim_order()) != list(range(source.meta["val"].dim())):
            return Rejection("its operand is not contiguous")
    else:
        is_sum = operator(node) == "aten::addmm"
        if is_sum and (argument(node, "alpha"), argument(node, "beta")) != (1, 1):
            return Rejection("its factors are not 1")
        names = ("mat1", "mat2", "self") if is_sum else ("self", "mat2")
        source, transposed, *rest = (argument(node, name) for name in names)
        bias = rest[0] if rest else None
        if getattr(transposed, "target", None) is not aten.permute_copy.default:
            return Rejection("its second operand is not a transposed weight")
        weight = transposed.args[0]
    return _layer(site, "linear", source, _weights(site.constants, weight), bias, None)


def _weights(constants: Constants, node: Any, groups_of_inputs: int = 0) -> Weights | Rejection:
    """Return the weights of a node of shape [channels, …], or the reason why they cannot be fused.

    With groups_of_inputs, of a transposed convolution, the shape is [inputs, channels / groups, …].
    """
    if not is_dequantize(node):
        return Rejection("its weights are not quantized")
    integers: Any = argument(node, "input")
    tensor = constants.value(integers)
    if tensor is None:
        return Rejection("its weights are computed at run time")
    if tensor.dtype is not torch.int8 or argument(node, "dtype") is not torch.int8:
        return Rejection(f"its weights are {tensor.dtype}, and fused operators take torch.int8")
    kind = operator(node).removeprefix("quantized_decomposed::dequantize_per_").removesuffix(".default")
    if kind == "tensor":
        scales, zeros = torch.tensor([argument(node, "scale")]), torch.tensor([argument(node, "zero_point")])
    elif kind == "channel" and argument(node, "axis") == (1 if groups_of_inputs else 0):
        parameters = [constants.value(argument(node, name)) for name in ("scales", "zero_points")]
        if parameters[0] is None:
            return Rejection("the scales of its weights are computed at run time")
        scales, zeros = parameters[0], torch.zeros(1) if parameters[1] is None else parameters[1]
    else:
        return Rejection(f"its weights have scales per {kind}, and fused operators take one for each output channel")
    if bool(zeros.any()):
        return Rejection("its weights are not symmetric: they have zero points")
    rows = tensor
    if groups_of_inputs:  # inputs of a group next to its channels
        rows = tensor.unflatten(0, (groups_of_inputs, -1)).transpose(1, 2).flatten(0, 1)
        scales = scales.expand(tensor.shape[1]).repeat(groups_of_inputs)
    max_terms = _MAX_CENTERED_TERMS if groups_of_inputs else _MAX_TERMS
    if rows.numel() > max_terms * rows.shape[0] or rows.numel() == 0:
        return Rejection(f"its weights {list(tensor.shape)} are empty, or a channel has too many for a sum in int32")
    return Weights(integers, tensor, scales.double().expand(rows.shape[0]), rows.double().flatten(1).sum(1))


def _layer(
    site: Site,
    name: str,
    source: Argument,
    weights: Weights | Rejection,
    bias: object,
    arguments: tuple[Argument, ...] | None,
) -> Fusion | Rejection:
    """Return the fusion of a layer. arguments: of a convolution, those after its constants; None for linear."""
    of = operand(source)
    if isinstance(of, Rejection):
        return of
    if isinstance(weights, Rejection):
        return weights
    addend = torch.zeros(1) if bias is None else site.constants.value(bias)
    if addend is None or addend.numel() not in (1, len(weights.scales)) or addend.dim() > 1:
        return Rejection("its bias is not a constant with one value for each output channel")
    scales = of.scale * weights.scales / site.to.scale
    offsets = (addend.double().reshape(-1) / site.to.scale).expand(len(scales))
    if name != "transposed_convolution":
        offsets = offsets - scales * of.zero_point * weights.sums

    def build() -> fx.Node:
        constants = site.constants
        contiguous = weights.integers.is_contiguous() and weights.node.op == "placeholder"
        weight = weights.node if contiguous else constants.add("_fused_weight", weights.integers, site.core)
        added = [
            constants.add("_fused_scales", scales.float(), site.core),
            constants.add("_fused_offsets", offsets.float(), site.core),
        ]
        input = site.integers_of(source)
        if arguments is None:
            return site.call(name, input, weight, *added, *site.result)
        return site.call(name, input, of.zero_point, weight, *added, *arguments, *site.result)

    return build
