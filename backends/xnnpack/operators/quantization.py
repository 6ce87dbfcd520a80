# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Rules for quantize and dequantize.

Operators between dequantize and quantize are computed on integers where XNNPACK can. The result is exact or within one
quantum of dequantize → operator → quantize, because XNNPACK multiplies by scales in fixed point. All other operators
are computed in float, as the graph says.
"""

from __future__ import annotations

import math
import operator
import sys
from typing import cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import argument, is_constant, operator_of
from executorch.backends.xnnpack.lowering.lowering import Lowering
from executorch.backends.xnnpack.lowering.quantization import (
    DEQUANTIZE,
    DYNAMIC,
    PER_CHANNEL,
    PER_GROUP,
    QUANTIZE,
    Affine,
    affine,
    dynamic_source,
    stands_for,
)
from executorch.backends.xnnpack.operators.convolution import takes_quantized_images
from executorch.backends.xnnpack.operators.matrix import takes_quantized_rows
from executorch.backends.xnnpack.operators.rule import FLOATS, Rule, refusal_of_tensor
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.error import Rejection


def _refuse_parameters(parameters: Affine) -> Rejection | None:
    if not isinstance(parameters.scale, (int, float)) or not isinstance(parameters.zero_point, int):
        return Rejection("its scale or zero point is computed, expected a constant")
    if parameters.dtype not in (torch.int8, torch.uint8):
        return Rejection(f"its dtype is {parameters.dtype}, expected int8 or uint8")
    if not math.isfinite(parameters.scale) or parameters.scale < sys.float_info.epsilon**2:
        return Rejection(f"its scale is {parameters.scale}, expected a positive number")
    limits = torch.iinfo(parameters.dtype)
    if not limits.min <= parameters.zero_point <= limits.max:
        return Rejection(f"its zero point {parameters.zero_point} is out of range of {parameters.dtype}")
    if parameters.quant_min < parameters.quant_max:
        return None
    return Rejection(f"quant_min {parameters.quant_min} is not below quant_max {parameters.quant_max}")


def _refuse(node: Node, program: ExportedProgram) -> Rejection | None:
    source = cast(Node, node.args[0])
    parameters = cast(Affine, affine(node))
    rejection = _refuse_parameters(parameters)
    if rejection is not None:
        return rejection
    real, integer = (source, node) if operator_of(node) == QUANTIZE else (node, source)
    floats = FLOATS if real is node and is_constant(program, source) else (torch.float32,)
    rejection = refusal_of_tensor(real, floats) or refusal_of_tensor(integer, (parameters.dtype,))
    represented = stands_for(integer)
    if rejection is None and represented is not None and not parameters.is_as(represented):
        return Rejection(f"another reader dequantizes {integer.name} with other parameters")
    return rejection


def _quantize(low: Lowering, node: Node) -> None:
    source, parameters = cast(Node, node.args[0]), cast(Affine, affine(node))
    order = low.order_of(source)
    value = low.read(source, order)
    if not parameters.is_whole:
        clamped = low.writer.value(torch.float32, low.shape(source, order))
        low.writer.node(g.Clamp(value, clamped), 0, parameters.limits)
        value = clamped
    low.add(g.Convert(value, low.result(node, order)), node)


def _nothing(low: Lowering, node: Node) -> None:
    """Emit no node: readers convert the value as they need it."""


def _refuse_computed(node: Node, program: ExportedProgram) -> Rejection | None:
    if is_constant(program, node):
        return refusal_of_tensor(node, FLOATS)
    return Rejection("it dequantizes a computed value, expected a constant")


def _choice(node: Node) -> Node | None:
    """The choose_qparams node of a dynamic quantize or dequantize."""
    scale = node.args[1] if operator_of(node) not in DYNAMIC and len(node.args) > 1 else None
    source = scale.args[0] if isinstance(scale, Node) and scale.target is operator.getitem else None
    return node if operator_of(node) in DYNAMIC else source if isinstance(source, Node) else None


def takes_quantized(node: Node, program: ExportedProgram) -> bool:
    """Return whether XNNPACK quantizes a node's first operand dynamically."""
    return takes_quantized_rows(node, program) or takes_quantized_images(node, program)


def _refuse_dynamic(node: Node, program: ExportedProgram) -> Rejection | None:
    """All nodes of a dynamic quantization are lowered together with the layers that read it, or none is."""
    choice = _choice(node)
    if choice is None:
        return Rejection("the node that chooses its parameters is unknown")
    if operator_of(choice).endswith("choose_qparams.tensor") and tuple(choice.args[1:3]) != (-128, 127):
        return Rejection(
            f"its quant_min and quant_max are {choice.args[1]} and {choice.args[2]}, expected -128 and 127"
        )
    if argument(choice, 4 if len(choice.args) > 2 else 1, "dtype") != torch.int8:
        return Rejection("its integers have another dtype than int8")
    source = choice.args[0]
    rejection = refusal_of_tensor(cast(Node, source), FLOATS)
    if rejection is not None:
        return rejection
    calls = [call for part in choice.users for quantize in part.users for call in (quantize, *quantize.users)]
    last = {call for call in calls if dynamic_source(call) is source}
    readers = {reader for call in last for reader in call.users}
    if not readers or not all(takes_quantized(reader, program) for reader in readers):
        return Rejection(
            "a reader is neither a linear layer nor a non-depthwise convolution with constant integer weights"
        )
    allowed = {*last, *(cast(Node, call.args[0]) for call in last)}
    return None if set(calls) <= allowed | readers else Rejection("its integers are used elsewhere")


RULES: dict[str, Rule] = {
    QUANTIZE: Rule(_quantize, _refuse, any_tensors=True),
    DEQUANTIZE: Rule(_nothing, _refuse, any_tensors=True),
    PER_CHANNEL: Rule(_nothing, _refuse_computed, any_tensors=True),
    PER_GROUP: Rule(_nothing, _refuse_computed, any_tensors=True),
    # Scale and zero point stay in the delegate, so rows that may be missing need none.
    **{name: Rule(_nothing, _refuse_dynamic, any_tensors=True, takes_empty=True) for name in DYNAMIC},
    **{name: Rule(_nothing, _refuse_dynamic, any_tensors=True) for names in DYNAMIC.values() for name in names},
}
