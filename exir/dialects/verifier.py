# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""One engine for every dialect: a rule is a predicate over nodes and what to say about a node that breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from torch import fx

from executorch.exir.error import VerificationError
from executorch.exir.graph_module import all_graph_modules


@dataclass(frozen=True)
class Rule:
    """broken: whether a call node breaks the rule. why: what it should be, and what was found instead."""

    broken: Callable[[fx.Node], bool]
    why: Callable[[fx.Node], str]


def find_violations(graph_module: fx.GraphModule, rules: Iterable[Rule]) -> list[tuple[fx.Node, str]]:
    """Every call node of `graph_module` and of its control flow that breaks a rule, with the first reason."""
    rules = list(rules)
    findings: list[tuple[fx.Node, str]] = []
    for held in all_graph_modules(graph_module):
        for node in held.graph.nodes:
            if node.op in ("placeholder", "output", "get_attr"):
                continue
            rule = next((rule for rule in rules if rule.broken(node)), None)
            if rule is not None:
                findings.append((node, rule.why(node)))
    return findings


def verify(graph_module: fx.GraphModule, rules: Iterable[Rule], stage: str) -> None:
    """Raises `VerificationError` that names the offending operators with dtypes, module path and source line."""
    findings = find_violations(graph_module, rules)
    if findings:
        raise VerificationError(stage, list(findings))
