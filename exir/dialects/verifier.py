# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The verifier of all dialects: a rule is a predicate over nodes and the message for a node that breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from torch import fx

from executorch.exir.error import VerificationError
from executorch.exir.graph_module import all_graph_modules


@dataclass(frozen=True)
class Rule:
    """broken: returns whether a call node breaks the rule. why: returns the message."""

    broken: Callable[[fx.Node], bool]
    why: Callable[[fx.Node], str]


def find_violations(graph_module: fx.GraphModule, rules: Iterable[Rule]) -> list[tuple[fx.Node, str]]:
    """Return each call node of `graph_module` and its control flow that breaks a rule, with the first message."""
    rules = list(rules)
    findings: list[tuple[fx.Node, str]] = []
    for module in all_graph_modules(graph_module):
        for node in module.graph.nodes:
            if node.op in ("placeholder", "output", "get_attr"):
                continue
            rule = next((rule for rule in rules if rule.broken(node)), None)
            if rule is not None:
                findings.append((node, rule.why(node)))
    return findings


def verify(graph_module: fx.GraphModule, rules: Iterable[Rule], stage: str) -> None:
    """Raise `VerificationError` if a node breaks a rule: it names operator, dtypes, module path and source line."""
    findings = find_violations(graph_module, rules)
    if findings:
        raise VerificationError(stage, list(findings))
