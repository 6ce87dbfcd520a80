# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Conditions under which XNNPACK computes dequantize → operator → quantize on integers, and the constants of such
nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.elements import Elements, per_channel, per_tensor
from executorch.backends.xnnpack.lowering.facts import constant_tensor, is_constant, operator_of
from executorch.backends.xnnpack.lowering.quantization import (
    DEQUANTIZE,
    Affine,
    Weights,
    affine,
    affine_operands,
    weights_of,
)
from executorch.backends.xnnpack.operators.rule import OnIntegers

_SMALLEST = 2.0**-126
"""Smallest scale that XNNPACK accepts: the smallest normal float32."""


def if_alike(node: Node, result: Affine, program: ExportedProgram) -> bool:
    """Accept operators that only move or select elements: operands and result must have equal parameters."""
    operands = affine_operands(node)
    return operands is not None and all(operand.is_as(result) for operand in operands)


def if_scales(fit: Callable[[list[float], float], bool]) -> OnIntegers:
    """Accept operands and result of one dtype whose scales satisfy `fit`."""

    def check(node: Node, result: Affine, program: ExportedProgram) -> bool:
        operands = affine_operands(node)
        if operands is None or any(operand.dtype != result.dtype for operand in operands):
            return False
        return fit([operand.scale for operand in operands], result.scale)

    return check


def sums_fit(operands: list[float], result: float) -> bool:
    """Return whether scale ratios are within XNNPACK's bounds for sums and differences."""
    return all(2.0**-10 <= scale / result < 2.0**8 for scale in operands)


def products_fit(operands: list[float], result: float) -> bool:
    """Return whether the scale ratio is within XNNPACK's bounds for products; a single operand is squared."""
    return 2.0**-16 <= operands[0] * operands[-1] / result < 2.0**8


def _source(node: Node) -> Affine | None:
    source = node.args[0]
    return affine(source) if isinstance(source, Node) and operator_of(source) == DEQUANTIZE else None


def if_weights(axis_of: Callable[[Node], int]) -> OnIntegers:
    """Accept (int8 operand, constant weights, constant bias). `axis_of` returns the dimension of the weights that may
    have several scales.
    """

    def check(node: Node, result: Affine, program: ExportedProgram) -> bool:
        source, weights = _source(node), weights_of(program, node.args[1])
        if source is None or weights is None or weights.group or weights.axis not in (None, axis_of(node)):
            return False
        bias = node.args[2] if len(node.args) > 2 else None
        if bias is not None and not is_constant(program, bias):
            return False
        products = source.scale * weights.scales.double()
        ratios = products / result.scale
        fits = bool((products >= _SMALLEST).all() and (ratios < 2.0**8).all() and (ratios >= 2.0**-32).all())
        return fits and source.dtype == result.dtype == torch.int8

    return check


class Operands(NamedTuple):
    """Weights and bias as integers, with their quantization parameters."""

    weights: Weights
    bias: torch.Tensor | None
    bias_elements: Elements


def integer_operands(node: Node, program: ExportedProgram) -> Operands:
    """Operands of a node that is computed on integers. The bias takes the scale input scale * weight scale."""
    source, weights = _source(node), weights_of(program, node.args[1])
    assert source is not None and weights is not None
    scales = source.scale * weights.scales.double()
    bias = constant_tensor(program, node.args[2]) if len(node.args) > 2 and node.args[2] is not None else None
    limits = torch.iinfo(torch.int32)
    rounded = None if bias is None else (bias.double() / scales).round().clamp(limits.min, limits.max).int()
    if weights.axis is None:
        return Operands(weights, rounded, per_tensor(torch.int32, float(scales), 0))
    return Operands(weights, rounded, per_channel(torch.int32, scales, 0))


def weight_elements(weights: Weights, dim: int) -> Elements:
    """Element type of int8 weights whose channels are dimension `dim`."""
    if weights.axis is None:
        return per_tensor(torch.int8, float(weights.scales), 0)
    return per_channel(torch.int8, weights.scales, dim)
