# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Reasons why operators of a quantized partition are computed in float."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.converted_weights import product_of
from executorch.backends.xnnpack.lowering.facts import is_constant, operator_of, tensors_of
from executorch.backends.xnnpack.lowering.fusion import fused_with, fusions
from executorch.backends.xnnpack.lowering.quantization import DEQUANTIZE, QUANTIZE, affine
from executorch.backends.xnnpack.operators import quantization
from executorch.backends.xnnpack.operators.rule import Rule
from executorch.backends.xnnpack.operators.table import rule_of


def float_fallback_reasons(program: ExportedProgram, partition: Collection[Node]) -> dict[Node, str]:
    """First node of each float operator → reason; empty for a partition without integers."""
    found = {}
    for node, result, is_on_integers in _operators(program, partition):
        rule = rule_of(node)
        if rule is not None and not is_on_integers and product_of(program, node) is None:
            found[node] = _reason(node, rule, result, program)
    return found


def nodes_on_integers(program: ExportedProgram, partition: Collection[Node]) -> list[Node]:
    """The nodes that are computed on integers, without the quantize and dequantize calls around them."""
    found = []
    for node, result, is_on_integers in _operators(program, partition):
        if is_on_integers or product_of(program, node) is not None:
            found += [each for each in (node, *fused_with(node, result)) if operator_of(each) not in quantization.RULES]
    return found


def _operators(program: ExportedProgram, partition: Collection[Node]) -> Iterator[tuple[Node, Node, bool]]:
    """First and last node of each operator of a quantized partition, and whether it computes on integers; none for a
    partition without integers."""
    taken = set(partition)
    if not any(operator_of(node) in quantization.RULES for node in taken):
        return
    fused, absorbed = fusions(program, taken.__contains__)
    for node in program.graph.nodes:
        if node not in taken or node in absorbed or operator_of(node) in quantization.RULES:
            continue
        together = fused.get(node)
        is_exact = quantization.takes_quantized(node, program) or (together is not None and together.on_integers)
        yield node, together.result if together else node, is_exact


def _reason(node: Node, rule: Rule, result: Node, program: ExportedProgram) -> str:
    if rule.on_integers is None:
        return "XNNPACK lacks this operator on integers"
    operands = [each for each in tensors_of(node) if not is_constant(program, each)]
    numbers = [each.name for each in operands if operator_of(each) != DEQUANTIZE]
    if numbers:
        return f"its operand {numbers[0]} is not quantized"
    reader = next(iter(result.users), None)
    made = affine(reader) if reader is not None and operator_of(reader) == QUANTIZE else None
    if made is None or len(result.users) > 1:
        behind = "" if result is node else f", fused with {', '.join(each.name for each in fused_with(node, result))},"
        return f"its result{behind} is read as float"
    if not made.is_whole and not rule.fuses_activation:
        return f"its result is clamped to integers from {made.quant_min} to {made.quant_max}"
    return "XNNPACK does not compute on integers with its dtypes, scales or weights"
