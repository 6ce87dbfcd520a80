# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Nodes of a partition that are made together: convolution and batch norm, a product or sum and its activation."""

from __future__ import annotations

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.lowering import Fused
from executorch.backends.xnnpack.operators.convolution import NORM, scale_of_norm
from executorch.backends.xnnpack.operators.elementwise import CLAMPS, limits_of
from executorch.backends.xnnpack.operators.table import RULES, rule_of


def fusions(program: ExportedProgram) -> tuple[dict[Node, Fused], set[Node]]:
    """What is made with each first node of a fusion, and the nodes that are made with another."""
    clamps = [RULES[f"aten.{name}"] for name in CLAMPS]
    fused: dict[Node, Fused] = {}
    absorbed: set[Node] = set()
    for node in program.graph.nodes:
        rule = rule_of(node) if node.op == "call_function" else None
        if rule is None or not rule.fuses_activation or node in absorbed:
            continue
        result, scale, limits = node, None, None
        norm = _only_user(result)
        if norm is not None and rule is RULES["aten.convolution.default"] and rule_of(norm) is RULES[f"aten.{NORM}"]:
            (result,) = [user for user in norm.users if user.args[1] == 0]
            scale = scale_of_norm(norm, program)
            absorbed |= {norm, result}
        clamp = _only_user(result)
        if clamp is not None and clamp.op == "call_function" and rule_of(clamp) in clamps:
            result, limits = clamp, limits_of(clamp)
            absorbed.add(clamp)
        if result is not node:
            fused[node] = Fused(result, limits, scale)
    return fused, absorbed


def _only_user(node: Node) -> Node | None:
    users = list(node.users)
    return users[0] if len(users) == 1 and users[0].op == "call_function" else None
