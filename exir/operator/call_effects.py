# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Effects of a call beside its result: random numbers that it draws, arguments that it writes."""

from __future__ import annotations

import torch
from torch.fx import Graph, Node
from torch.fx.node import map_arg


def draws_random_numbers(target: object) -> bool:
    """Return whether two equal calls of an operator may return different results: it reads a random generator."""
    return torch.Tag.nondeterministic_seeded in getattr(target, "tags", ())


def writes_arguments(target: object) -> bool:
    """Return whether an operator writes to an argument, such as `aten::add_` and out variants."""
    schema = getattr(target, "_schema", None)
    return schema is not None and bool(schema.is_mutable)


def written_values(graph: Graph) -> set[Node]:
    """Return the nodes whose values a call writes, directly or through a view."""
    written: set[Node] = set()
    for node in reversed(graph.nodes):
        schema = getattr(node.target, "_schema", None) if node.op == "call_function" else None
        for place, argument in enumerate(schema.arguments if schema is not None else ()):
            if argument.alias_info is None or not (argument.alias_info.is_write or node in written):
                continue
            given = node.args[place] if place < len(node.args) else node.kwargs.get(argument.name)
            map_arg(given, written.add)
    return written


def is_repeatable(node: Node) -> bool:
    """Return whether a call of an operator only computes results, whose values and sizes depend on its arguments."""
    return not (
        writes_arguments(node.target) or draws_random_numbers(node.target) or node.meta.get("unbacked_bindings")
    )
