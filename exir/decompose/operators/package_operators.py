# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompositions of operators that an optional package defines when it is imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch


def rules_of_package(namespace: str, rules: Mapping[str, Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    """Return the rules by operator, for each `namespace::name` that is defined now."""
    operators = getattr(torch.ops, namespace)
    return {getattr(operators, name).default: rule for name, rule in rules.items() if hasattr(operators, name)}
