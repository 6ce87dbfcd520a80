# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Table of supported operators, read by partitioner and lowering."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.converted_weights import product_of
from executorch.backends.xnnpack.lowering.facts import operator_of
from executorch.backends.xnnpack.operators import (
    arrangement,
    booleans,
    composed,
    convolution,
    elementwise,
    extreme,
    gather,
    matrix,
    normalization,
    quantization,
    reduction,
    slices,
    volumes,
    window,
)
from executorch.backends.xnnpack.operators.rule import (
    FLOATS,
    FLOATS_AND_BOOLEANS,
    Rule,
    refusal_of_broadcast,
    refusal_of_emptiness,
    refusal_of_tensors,
)
from executorch.exir.error import Rejection

_MODULES = (
    *(elementwise, composed, matrix, convolution, window, reduction),
    *(extreme, normalization, arrangement, slices, booleans, gather, volumes),
)

_NEWER = (booleans, gather)
"""Modules all of whose rules write nodes that ExecuTorch 1.4 lacks."""


def _rules_of(module: ModuleType) -> dict[str, Rule]:
    rules: dict[str, Rule] = module.RULES
    if module in _NEWER:
        return {name: replace(rule, newer=lambda node, program: True) for name, rule in rules.items()}
    return rules


RULES: Mapping[str, Rule] = {
    **{f"aten.{name}": rule for module in _MODULES for name, rule in _rules_of(module).items()},
    **quantization.RULES,
}


def rule_of(node: Node) -> Rule | None:
    """The rule of a node's operator."""
    return RULES.get(operator_of(node).replace("dim_order_ops.", "aten."))


def refusal(node: Node, program: ExportedProgram) -> Rejection | None:
    """Return why XNNPACK cannot compute a call; None if it can. A getitem follows the call whose result it takes."""
    if node.target is operator.getitem:
        source = node.args[0]
        if isinstance(source, Node):
            return refusal(source, program)
        return Rejection("it is a getitem whose operand is not a node")
    rule = rule_of(node)
    if rule is None:
        return Rejection("XNNPACK lacks this operator")
    product = product_of(program, node)
    if product is not None:  # a weight conversion follows the product that reads it
        return refusal(product, program)
    dtypes = FLOATS_AND_BOOLEANS if rule.booleans else FLOATS
    tensors = None if rule.any_tensors else refusal_of_tensors(node, rule.mixes_dtypes, dtypes, rule.sizes)
    emptiness = None if rule.takes_empty else refusal_of_emptiness(node)
    return tensors or rule.refusal(node, program) or emptiness or refusal_of_broadcast(node)
