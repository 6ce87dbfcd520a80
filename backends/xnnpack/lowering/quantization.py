# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Parameters of the quantize and dequantize operators of a graph."""

from __future__ import annotations

import operator
from typing import NamedTuple, cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import argument, constant_tensor, operator_of, tensors_of

_LIBRARY = "quantized_decomposed."
QUANTIZE = f"{_LIBRARY}quantize_per_tensor.default"
DEQUANTIZE = f"{_LIBRARY}dequantize_per_tensor.default"
PER_CHANNEL = f"{_LIBRARY}dequantize_per_channel.default"
PER_GROUP = f"{_LIBRARY}dequantize_per_channel_group.default"

# Dynamic quantization: choose_qparams → (quantize, dequantize).
DYNAMIC = {
    f"{_LIBRARY}choose_qparams.tensor": (
        f"{_LIBRARY}quantize_per_tensor.tensor",
        f"{_LIBRARY}dequantize_per_tensor.tensor",
    ),
    f"{_LIBRARY}choose_qparams_per_token_asymmetric.default": (
        f"{_LIBRARY}quantize_per_token.default",
        f"{_LIBRARY}dequantize_per_token.default",
    ),
}


class Affine(NamedTuple):
    """Per-tensor parameters: (integer - zero_point) * scale, with integers from quant_min to quant_max."""

    scale: float
    zero_point: int
    quant_min: int
    quant_max: int
    dtype: torch.dtype

    @property
    def is_whole(self) -> bool:
        """Return whether quant_min and quant_max cover the whole dtype."""
        limits = torch.iinfo(self.dtype)
        return self.quant_min <= limits.min and self.quant_max >= limits.max

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and largest value that can be represented."""
        return (self.quant_min - self.zero_point) * self.scale, (self.quant_max - self.zero_point) * self.scale

    def is_as(self, other: Affine) -> bool:
        """Return whether equal integers represent equal values."""
        return (self.scale, self.zero_point, self.dtype) == (other.scale, other.zero_point, other.dtype)


def affine(node: Node) -> Affine | None:
    """The parameters of a quantize or dequantize per tensor; None for any other node."""
    if operator_of(node) not in (QUANTIZE, DEQUANTIZE):
        return None
    names = ("scale", "zero_point", "quant_min", "quant_max", "dtype")
    return Affine(*(argument(node, place, name) for place, name in enumerate(names, 1)))  # type: ignore[arg-type]


def stands_for(node: Node) -> Affine | None:
    """Parameters of a node's integers: those of the node if it is a quantize, else those of a dequantize that reads
    it.
    """
    if operator_of(node) == QUANTIZE:
        return affine(node)
    return next((affine(user) for user in node.users if operator_of(user) == DEQUANTIZE), None)


def affine_operands(node: Node) -> list[Affine] | None:
    """Parameters of all operands of a node; None if an operand is not dequantized per tensor."""
    operands = [affine(source) for source in tensors_of(node) if operator_of(source) == DEQUANTIZE]
    return [source for source in operands if source] if len(operands) == len(tensors_of(node)) else None


class Weights(NamedTuple):
    """Constant integers that are dequantized as values * scales: one scale (`axis` is None), one for each index of
    `axis`, or, with `group`, one for each `group` elements of a row.
    """

    values: torch.Tensor
    scales: torch.Tensor
    axis: int | None
    group: int
    bits: int


def weights_of(program: ExportedProgram, node: object) -> Weights | None:
    """The integers of dequantized constant weights; None for other nodes and for weights with zero points."""
    name = operator_of(node) if isinstance(node, Node) else ""
    if name not in (DEQUANTIZE, PER_CHANNEL, PER_GROUP):
        return None
    node = cast(Node, node)
    values = constant_tensor(program, node.args[0])
    if values is None or values.dtype != torch.int8:
        return None
    places = {DEQUANTIZE: 3, PER_CHANNEL: 4, PER_GROUP: 3}[name]
    quant_min, quant_max = (
        cast(int, argument(node, places, "quant_min")),
        cast(int, argument(node, places + 1, "quant_max")),
    )
    bits = 4 if quant_min >= -8 and quant_max <= 7 else 8
    if name == DEQUANTIZE:
        parameters = affine(node)
        assert parameters is not None
        return None if parameters.zero_point else Weights(values, torch.tensor(parameters.scale), None, 0, bits)
    scales, zeros = (constant_tensor(program, arg) for arg in node.args[1:3])
    if scales is None or (node.args[2] is not None and (zeros is None or bool(zeros.any()))):
        return None
    if name == PER_CHANNEL:
        return Weights(values, scales, cast(int, argument(node, 3, "axis")), 0, bits)
    if scales.numel() == len(values):  # one group a row
        return Weights(values, scales.reshape(-1), 0, 0, bits)
    return Weights(values, scales, 0, cast(int, argument(node, 6, "group_size")), bits)


def dynamic_source(node: object) -> Node | None:
    """The source that is quantized and dequantized dynamically to give `node`; None for other nodes."""
    if not isinstance(node, Node) or operator_of(node) not in {last for _, last in DYNAMIC.values()}:
        return None
    quantize, scale = node.args[:2]
    choose = scale.args[0] if isinstance(scale, Node) and scale.target is operator.getitem else None
    if not isinstance(quantize, Node) or not isinstance(choose, Node):
        return None
    if DYNAMIC.get(operator_of(choose)) != (operator_of(quantize), operator_of(node)):
        return None
    source = quantize.args[0]
    parameters = [arg.args for arg in quantize.args[1:3] if isinstance(arg, Node)]
    fits = parameters == [(choose, 0), (choose, 1)] and quantize.args[1:3] == node.args[1:3]
    return source if fits and isinstance(source, Node) and choose.args[0] is source else None
