# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompositions of operators that an optional package defines when it is imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch._ops import OpOverload


def rules_of_package(
    namespace: str, rules: Mapping[str, Callable[..., object]]
) -> dict[OpOverload, Callable[..., object]]:
    """Return the rules by operator, for each `namespace::name` that is defined now."""
    operators = getattr(torch.ops, namespace)
    return {getattr(operators, name).default: rule for name, rule in rules.items() if hasattr(operators, name)}
