# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The verifier of all dialects: a rule rejects a node with the reason, or accepts it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from torch import fx

from executorch.exir.error import Rejection, VerificationError
from executorch.exir.graph_module import all_graph_modules

Rule = Callable[[fx.Node], Rejection | None]


def reject_if(broken: Callable[[fx.Node], bool], why: Callable[[fx.Node], str]) -> Rule:
    """Return the rule that rejects the nodes for which `broken` is true. why: returns the reason."""
    return lambda node: Rejection(why(node)) if broken(node) else None


def find_violations(graph_module: fx.GraphModule, rules: Iterable[Rule]) -> list[tuple[fx.Node, Rejection]]:
    """Return each call node of `graph_module` and its control flow that a rule rejects, with the first rejection."""
    rules = list(rules)
    findings: list[tuple[fx.Node, Rejection]] = []
    for module in all_graph_modules(graph_module):
        for node in module.graph.nodes:
            if node.op in ("placeholder", "output", "get_attr"):
                continue
            rejection = next((found for rule in rules if (found := rule(node)) is not None), None)
            if rejection is not None:
                findings.append((node, rejection))
    return findings


def verify(graph_module: fx.GraphModule, rules: Iterable[Rule], stage: str) -> None:
    """Raise `VerificationError` if a node breaks a rule: it names operator, dtypes, module path and source line."""
    findings = find_violations(graph_module, rules)
    if findings:
        raise VerificationError(stage, [(node, rejection.reason) for node, rejection in findings])
