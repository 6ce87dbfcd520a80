# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Why operators of a partition that has integers in it are computed on numbers."""

from __future__ import annotations

from collections.abc import Collection

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.converted_weights import product_of
from executorch.backends.xnnpack.lowering.facts import is_constant, operator_of, tensors_of
from executorch.backends.xnnpack.lowering.fusion import fused_with, fusions
from executorch.backends.xnnpack.lowering.quantization import DEQUANTIZE, QUANTIZE, affine
from executorch.backends.xnnpack.operators import quantization
from executorch.backends.xnnpack.operators.rule import Rule
from executorch.backends.xnnpack.operators.table import rule_of


def why_in_float(program: ExportedProgram, partition: Collection[Node]) -> dict[Node, str]:
    """Operator → reason, without what follows it and is made with it; nothing of a partition of numbers alone."""
    taken = set(partition)
    if not any(operator_of(node) in quantization.RULES for node in taken):
        return {}
    fused, absorbed = fusions(program, taken.__contains__)
    found = {}
    for node in program.graph.nodes:
        if node not in taken or node in absorbed or operator_of(node) in quantization.RULES:
            continue
        rule, together = rule_of(node), fused.get(node)
        is_exact = quantization.takes_quantized(node, program) or (together is not None and together.on_integers)
        if rule is not None and not is_exact and product_of(program, node) is None:
            found[node] = _reason(node, rule, together.result if together else node, program)
    return found


def _reason(node: Node, rule: Rule, result: Node, program: ExportedProgram) -> str:
    if rule.on_integers is None:
        return "XNNPACK has no such operator on integers"
    operands = [each for each in tensors_of(node) if not is_constant(program, each)]
    numbers = [each.name for each in operands if operator_of(each) != DEQUANTIZE]
    if numbers:
        return f"its operand {numbers[0]} is not quantized"
    reader = next(iter(result.users), None)
    made = affine(reader) if reader is not None and operator_of(reader) == QUANTIZE else None
    if made is None or len(result.users) > 1:
        behind = "" if result is node else f", made with {', '.join(each.name for each in fused_with(node, result))},"
        return f"its result{behind} is read as numbers"
    if not made.is_whole and not rule.fuses_activation:
        return f"its result is limited to the integers from {made.least} to {made.most}"
    return "its dtypes, scales or weights are not among those that XNNPACK computes with on integers"
