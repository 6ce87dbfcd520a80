# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Values and bounds of symbolic sizes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

__all__ = [
    "collect_free_symbols",
    "eval_expr",
    "eval_shape",
    "eval_shape_upper_bound",
    "eval_upper_bound",
    "may_be_zero",
    "upper_bound",
    "value_range",
]


def value_range(size: torch.SymInt) -> ValueRanges[sympy.Expr]:
    """Return the range of a size that follows from the ranges of its symbols."""
    expr, ranges = size.node.expr, size.node.shape_env.var_to_range
    return _range_of(expr, frozenset((symbol, ranges[symbol]) for symbol in expr.free_symbols if symbol in ranges))


@lru_cache(maxsize=65_536)
def _range_of(
    expr: sympy.Expr, ranges: frozenset[tuple[sympy.Symbol, ValueRanges[sympy.Expr]]]
) -> ValueRanges[sympy.Expr]:
    """Cached, because every step of a lowering needs the ranges of all sizes, and torch keeps none."""
    return bound_sympy(expr, dict(ranges))


def upper_bound(size: int | torch.SymInt) -> int | None:
    """Return the largest value of a size by the ranges of its symbols, or None if it is unbounded."""
    if isinstance(size, int):
        return size
    node = size.node
    if node.expr.is_number:
        return int(node.expr)
    largest = value_range(size).upper
    # Where the model states no bound, torch.export gives one near the largest int64.
    if largest is int_oo or not largest.is_finite or int(largest) >= torch.iinfo(torch.int64).max // 2:
        return None
    return int(largest)


def may_be_zero(size: int | torch.SymInt) -> bool:
    """Return whether the ranges of the symbols allow 0. torch.export assumes at least 2 for sizes of inputs."""
    if isinstance(size, int) or size.node.expr.is_number:
        return False
    return bool(value_range(size).lower <= 0)


def eval_expr(symint: int | torch.SymInt) -> int | None:
    """Return the size in the example input; None for a data-dependent size."""
    if isinstance(symint, int):
        return symint
    try:
        return int(symint.node.shape_env.guarding_hint_or_throw(symint.node.expr))
    except GuardOnDataDependentSymNode:
        return None


def eval_upper_bound(maybe_symint: int | torch.SymInt) -> int:
    """Return the upper bound of a size, or the example's size without a bound; RuntimeError without either."""
    if isinstance(maybe_symint, int):
        return maybe_symint
    node = maybe_symint.node
    bound = value_range(maybe_symint).upper
    if isinstance(bound, sympy.Integer):
        return int(bound)
    hint = eval_expr(maybe_symint) if bound is int_oo else None
    if hint is None:
        raise RuntimeError(f"size {node.expr}: expected a finite upper bound or an example, found the bound {bound}")
    return hint


def eval_shape(shape: Iterable[int | torch.SymInt]) -> list[int | None]:
    """Return `eval_expr` of each size."""
    return [eval_expr(size) for size in shape]


def eval_shape_upper_bound(shape: Iterable[int | torch.SymInt]) -> list[int]:
    """Return `eval_upper_bound` of each size."""
    return [eval_upper_bound(size) for size in shape]


def collect_free_symbols(shape: Iterable[int | torch.SymInt]) -> set[sympy.Symbol]:
    """Return the symbols in the sizes."""
    return {symbol for size in shape if isinstance(size, torch.SymInt) for symbol in size.node.expr.free_symbols}
