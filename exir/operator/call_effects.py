# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Effects of a call beside its result: random numbers that it draws, arguments that it writes."""

from __future__ import annotations

import torch
from torch.fx import Node


def draws_random_numbers(target: object) -> bool:
    """Return whether two equal calls of an operator may return different results: it reads a random generator."""
    return torch.Tag.nondeterministic_seeded in getattr(target, "tags", ())


def writes_arguments(target: object) -> bool:
    """Return whether an operator writes to an argument, such as `aten::add_` and out variants."""
    schema = getattr(target, "_schema", None)
    return schema is not None and bool(schema.is_mutable)


def is_repeatable(node: Node) -> bool:
    """Return whether a call of an operator only computes results, whose values and sizes depend on its arguments."""
    return not (
        writes_arguments(node.target) or draws_random_numbers(node.target) or node.meta.get("unbacked_bindings")
    )
