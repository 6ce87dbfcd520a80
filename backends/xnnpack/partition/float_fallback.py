# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators of a quantized partition: those computed on integers, and why the others are computed in float."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.converted_weights import product_of
from executorch.backends.xnnpack.lowering.facts import is_constant, operator_of, tensors_of
from executorch.backends.xnnpack.lowering.fusion import fused_with, fusions
from executorch.backends.xnnpack.lowering.quantization import DEQUANTIZE, QUANTIZE, affine
from executorch.backends.xnnpack.operators import quantization
from executorch.backends.xnnpack.operators.rule import Rule
from executorch.backends.xnnpack.operators.table import rule_of


@dataclass
class Arithmetic:
    """Arithmetic of the operators of a partition, without the quantize and dequantize calls around them.

    on_integers: all nodes that are computed on integers. float_fallbacks: first node of each float operator → reason.
    Both are empty for a partition without integers.
    """

    on_integers: list[Node] = field(default_factory=list)
    float_fallbacks: dict[Node, str] = field(default_factory=dict)


def arithmetic_of(program: ExportedProgram, partition: Collection[Node]) -> Arithmetic:
    """Return which nodes of a partition are computed on integers, and why its other operators are computed in float."""
    arithmetic, taken = Arithmetic(), set(partition)
    if not any(operator_of(node) in quantization.RULES for node in taken):
        return arithmetic
    fused, absorbed = fusions(program, taken.__contains__)
    for node in program.graph.nodes:
        if node not in taken or node in absorbed or operator_of(node) in quantization.RULES:
            continue
        rule, fusion = rule_of(node), fused.get(node)
        result = fusion.result if fusion else node
        is_dynamic = quantization.takes_quantized(node, program) and node.args[0] in taken
        is_exact = is_dynamic or (fusion is not None and fusion.on_integers)
        if is_exact or product_of(program, node) is not None:
            members = (node, *fused_with(node, result))
            arithmetic.on_integers += [member for member in members if operator_of(member) not in quantization.RULES]
        elif rule is not None:
            arithmetic.float_fallbacks[node] = _reason(node, rule, result, program, taken)
    return arithmetic


def _reason(node: Node, rule: Rule, result: Node, program: ExportedProgram, taken: Collection[Node]) -> str:
    if rule.on_integers is None:
        return "XNNPACK lacks this operator on integers"
    operands = [operand for operand in tensors_of(node) if not is_constant(program, operand)]
    unquantized = [operand.name for operand in operands if operator_of(operand) != DEQUANTIZE]
    if unquantized:
        return f"its operand {unquantized[0]} is not quantized"
    outside = [operand.name for operand in operands if operand not in taken]
    if outside:
        return f"its operand {outside[0]} is dequantized outside of the delegate"
    reader = next(iter(result.users), None)
    quantized = affine(reader) if reader is not None and operator_of(reader) == QUANTIZE else None
    if quantized is None or len(result.users) > 1:
        followers = ", ".join(part.name for part in fused_with(node, result))
        return f"its result{f', fused with {followers},' if followers else ''} is read as float"
    if not quantized.is_whole and not rule.fuses_activation:
        return f"its result is clamped to integers from {quantized.quant_min} to {quantized.quant_max}"
    return "XNNPACK does not compute on integers with its dtypes, scales or weights"
