# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Selectors: predicates that return True for nodes to tap, and combinators of them."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable

from torch.fx import Node

NodeSelector = Callable[[Node], bool]


def modules_of(node: Node) -> dict[str, tuple[str, str]]:
    """Modules that contain a node, outermost first: instance key → (path, class name)."""
    modules = {}
    for key, entry in (node.meta.get("nn_module_stack") or {}).items():
        path, kind = entry if isinstance(entry, tuple) and len(entry) > 1 else (entry, "")
        name = getattr(kind, "__name__", None) or str(kind).rsplit(".", 1)[-1].rstrip("'>")
        modules[key] = (str(path), name)
    return modules


def select_all_call_function(exclude: tuple[str, ...] = ("getitem",)) -> NodeSelector:
    """Select every call except of functions named in `exclude`."""
    excluded = frozenset(exclude)

    def selected(node: Node) -> bool:
        names = {getattr(node.target, "__name__", None), str(node.target)}
        return node.op == "call_function" and not names & excluded

    return selected


def select_by_op_type(*op_targets: str) -> NodeSelector:
    """Select calls of operators whose name ends with one of `op_targets` ("aten.linear.default").

    Raises ValueError without a name.
    """
    if not op_targets:
        raise ValueError("select_by_op_type requires at least one operator")
    return lambda node: node.op == "call_function" and str(node.target).endswith(op_targets)


def select_by_module_path(*patterns: str, output_only: bool = True) -> NodeSelector:
    """Select nodes of modules whose path matches one of the glob `patterns` ("layers.*.attention").

    output_only: select only nodes whose value no other node of the same module reads. Raises ValueError without
    a pattern.
    """
    if not patterns:
        raise ValueError("select_by_module_path requires at least one pattern")
    return _by_module(lambda path, _: any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns), output_only)


def select_by_module_class(*class_names: str, output_only: bool = True) -> NodeSelector:
    """Select nodes of modules whose unqualified class name is in `class_names` ("Linear").

    output_only: as in `select_by_module_path`. Raises ValueError without a name.
    """
    if not class_names:
        raise ValueError("select_by_module_class requires at least one class name")
    return _by_module(lambda _, name: name in class_names, output_only)


def _by_module(matches: Callable[[str, str], bool], output_only: bool) -> NodeSelector:
    def instances(node: Node) -> set[str]:
        return {key for key, (path, name) in modules_of(node).items() if matches(path, name)}

    def selected(node: Node) -> bool:
        own_instances = instances(node)
        return bool(own_instances) and not (
            output_only and any(own_instances & set(modules_of(user)) for user in node.users)
        )

    return selected


def select_any(*selectors: NodeSelector) -> NodeSelector:
    """Select nodes that any of the selectors selects."""
    return lambda node: any(selector(node) for selector in selectors)


def select_all(*selectors: NodeSelector) -> NodeSelector:
    """Select nodes that all selectors select."""
    return lambda node: all(selector(node) for selector in selectors)


def select_not(selector: NodeSelector) -> NodeSelector:
    """Select nodes that the selector does not select."""
    return lambda node: not selector(node)
