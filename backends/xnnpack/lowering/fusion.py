# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Nodes of a partition that fuse into one XNNPACK node: convolution and batch norm, product or sum and activation, and
the quantize that follows any of these.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import operator_of
from executorch.backends.xnnpack.lowering.lowering import Fused
from executorch.backends.xnnpack.lowering.quantization import QUANTIZE, affine
from executorch.backends.xnnpack.operators.convolution import NORM, scale_of_norm
from executorch.backends.xnnpack.operators.elementwise import CLAMPS, clamp_bounds
from executorch.backends.xnnpack.operators.rule import Rule
from executorch.backends.xnnpack.operators.table import RULES, rule_of

_CLAMPS = [RULES[f"aten.{name}"] for name in CLAMPS]


def fusions(
    program: ExportedProgram, is_taken: Callable[[Node], bool] = lambda node: True
) -> tuple[dict[Node, Fused], set[Node]]:
    """First node → fusion, and the set of nodes that are fused into another.

    is_taken: returns whether XNNPACK takes a node. The default takes every node, as in a partition.
    """
    fused: dict[Node, Fused] = {}
    absorbed: set[Node] = set()
    for node in program.graph.nodes:
        rule = rule_of(node)
        if rule is None or node in absorbed or not is_taken(node):
            continue
        fusion = _float_fusion(node, rule, program, is_taken) if rule.fuses_activation else Fused(node)
        fusion = _integer_fusion(node, rule, fusion, program) or fusion
        if fusion.result is not node and is_taken(fusion.result):
            fused[node] = fusion
            absorbed.update(fused_with(node, fusion.result))
    return fused, absorbed


def _float_fusion(node: Node, rule: Rule, program: ExportedProgram, is_taken: Callable[[Node], bool]) -> Fused:
    result, scale, bounds = node, None, None
    norm = _only_user(result)
    if (
        norm is not None
        and is_taken(norm)
        and rule is RULES["aten.convolution.default"]
        and rule_of(norm) is RULES[f"aten.{NORM}"]
    ):
        (result,) = [user for user in norm.users if user.args[1] == 0]
        scale = scale_of_norm(norm, program)
    clamp = _only_user(result)
    if clamp is not None and is_taken(clamp) and rule_of(clamp) in _CLAMPS:
        result, bounds = clamp, clamp_bounds(clamp)
    return Fused(result, bounds, scale)


def _integer_fusion(node: Node, rule: Rule, fused: Fused, program: ExportedProgram) -> Fused | None:
    """Extend a fusion by the following quantize if the operands are dequantized for it; None if that is impossible."""
    quantize = _only_user(fused.result)
    result_parameters = None if quantize is None or operator_of(quantize) != QUANTIZE else affine(quantize)
    if quantize is None or result_parameters is None or rule.on_integers is None or fused.scale is not None:
        return None
    if not (result_parameters.is_whole or rule.fuses_activation) or not rule.on_integers(
        node, result_parameters, program
    ):
        return None
    low, high = fused.clamp or (-math.inf, math.inf)
    smallest, largest = (-math.inf, math.inf) if result_parameters.is_whole else result_parameters.limits
    bounds = max(low, smallest), min(high, largest)
    if bounds[0] >= bounds[1]:
        return None
    return Fused(quantize, bounds if bounds != (-math.inf, math.inf) else None, on_integers=True)


def fused_with(node: Node, result: Node) -> list[Node]:
    """Nodes after `node` up to and including `result`, the last node of its fusion, in graph order."""
    members = []
    while node is not result:
        node = next(user for user in node.users if user.target is not operator.getitem or user.args[1] == 0)
        members.append(node)
    return members


def _only_user(node: Node) -> Node | None:
    users = list(node.users)
    return users[0] if len(users) == 1 and users[0].op == "call_function" else None
