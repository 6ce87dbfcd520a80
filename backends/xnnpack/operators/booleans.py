# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Selections by masks, the comparisons that make masks, and the logic between them.

A payload has two kinds of nodes for them: comparisons and Select. Logic is a selection: `a and b` is `a ? b : false`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import (
    constant_tensor,
    is_constant,
    rank,
    tensors_of,
)
from executorch.backends.xnnpack.lowering.layout import Order, plain
from executorch.backends.xnnpack.lowering.lowering import Lowering
from executorch.backends.xnnpack.operators.arrangement import truth
from executorch.backends.xnnpack.operators.rule import (
    FLOATS,
    FLOATS_AND_BOOLEANS,
    Check,
    Emit,
    Rule,
    refusal_of_tensor,
)
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.error import Rejection


def _dtype(node: Node) -> torch.dtype:
    dtype: torch.dtype = node.meta["val"].dtype
    return dtype


def _is_fixed_number(node: Node, program: ExportedProgram) -> bool:
    """Return whether a node is a constant without dimensions, which takes the dtype of the result."""
    return rank(node) == 0 and is_constant(program, node)


def _refuse_select(node: Node, program: ExportedProgram) -> Rejection | None:
    condition, *chosen = (cast(Node, arg) for arg in node.args)
    rejection = refusal_of_tensor(condition, [torch.bool]) or refusal_of_tensor(node, FLOATS_AND_BOOLEANS)
    for operand in chosen:
        if rejection is None and not _is_fixed_number(operand, program):
            rejection = refusal_of_tensor(operand, [_dtype(node)])
    return rejection


def _select(low: Lowering, node: Node) -> None:
    condition, *chosen = (cast(Node, arg) for arg in node.args)
    constants = [operand for operand in chosen if _is_fixed_number(operand, low.program)]
    order = low.order_of(condition, *(operand for operand in chosen if operand not in constants))
    if len(order) != rank(node):
        order = plain(rank(node))
    on_true, on_false = (_chosen(low, operand, node, order) for operand in chosen)
    low.add(g.Select(low.operand(condition, order), on_true, on_false, low.result(node, order)), node)


def _chosen(low: Lowering, source: Node, node: Node, order: Order) -> g.ValueId:
    if not _is_fixed_number(source, low.program):
        return low.operand(source, order)
    number = cast(torch.Tensor, constant_tensor(low.program, source))
    return low.writer.constant(number.to(_dtype(node)))


def _comparison(kind: type, swapped: bool = False) -> Rule:
    """Rule of the comparison of two tensors. `swapped` compares the second with the first."""

    def emit(low: Lowering, node: Node) -> None:
        left, right = (cast(Node, arg) for arg in node.args)
        order = low.order_of(left, right)
        operands = low.operand(left, order), low.operand(right, order)
        low.add(kind(*(operands[::-1] if swapped else operands), low.result(node, order)), node)

    return Rule(emit, _refuse_operands(kind), mixes_dtypes=True, booleans=True)


def _comparison_with_scalar(kind: type, swapped: bool = False) -> Rule:
    def emit(low: Lowering, node: Node) -> None:
        source = cast(Node, node.args[0])
        order = low.order_of(source)
        number = low.writer.constant(torch.tensor(node.args[1]).to(_dtype(source)))
        operands = low.read(source, order), number
        low.add(kind(*(operands[::-1] if swapped else operands), low.result(node, order)), node)

    return Rule(emit, _refuse_comparison_with_scalar, mixes_dtypes=True, booleans=True)


def _refuse_comparison_with_scalar(node: Node, program: ExportedProgram) -> Rejection | None:
    source = cast(Node, node.args[0])
    if not isinstance(node.args[1], (int, float)):
        return Rejection("its scalar operand is computed, expected a constant")
    return None if _dtype(source) in FLOATS else Rejection(f"it compares {_dtype(source)} with a scalar")


def _refuse_operands(kind: type) -> Check:
    def refusal(node: Node, program: ExportedProgram) -> Rejection | None:
        dtypes = {_dtype(source) for source in tensors_of(node)}
        if len(dtypes) > 1:
            return Rejection(f"it compares operands of {sorted(map(str, dtypes))}, expected one dtype")
        if torch.bool in dtypes and kind not in (g.Equal, g.NotEqual):
            return Rejection("it compares booleans by order, expected numbers")
        return None

    return refusal


def _logic(emit: Emit) -> Rule:
    return Rule(emit, _refuse_floats, mixes_dtypes=True, booleans=True)


def _refuse_floats(node: Node, program: ExportedProgram) -> Rejection | None:
    if all(_dtype(source) == torch.bool for source in tensors_of(node)):
        return None
    return Rejection("its operands are numbers, expected booleans")


def _operands(low: Lowering, node: Node) -> tuple[g.ValueId, g.ValueId, Order]:
    left, right = (cast(Node, arg) for arg in node.args)
    order = low.order_of(left, right)
    return low.operand(left, order), low.operand(right, order), order


def conjunction(low: Lowering, node: Node) -> None:
    """Emit `left and right` of booleans as a selection: right where left is true, else false."""
    left, right, order = _operands(low, node)
    low.add(g.Select(left, right, truth(low, False), low.result(node, order)), node)


def disjunction(low: Lowering, node: Node) -> None:
    """Emit `left or right` of booleans as a selection: true where left is true, else right."""
    left, right, order = _operands(low, node)
    low.add(g.Select(left, truth(low, True), right, low.result(node, order)), node)


def with_logic(rule: Rule, logic: Emit) -> Rule:
    """The rule of an arithmetic operator that computes `logic` on booleans."""

    def emit(low: Lowering, node: Node) -> None:
        (logic if _dtype(node) == torch.bool else rule.emit)(low, node)

    return replace(rule, emit=emit, booleans=True)


def _exclusive_or(low: Lowering, node: Node) -> None:
    left, right, order = _operands(low, node)
    low.add(g.NotEqual(left, right, low.result(node, order)), node)


def _not(low: Lowering, node: Node) -> None:
    """Emit true where a boolean is false or a number is zero."""
    (source,) = tensors_of(node)
    order = low.order_of(source)
    zero = low.writer.constant(torch.zeros((), dtype=_dtype(source)))
    low.add(g.Equal(low.read(source, order), zero, low.result(node, order)), node)


def _is_nan(low: Lowering, node: Node) -> None:
    (source,) = tensors_of(node)
    order = low.order_of(source)
    value = low.read(source, order)
    low.add(g.NotEqual(value, value, low.result(node, order)), node)


def _is_infinite(low: Lowering, node: Node) -> None:
    (source,) = tensors_of(node)
    order = low.order_of(source)
    magnitude = low.step(node, g.Abs, low.read(source, order), shape=low.shape(source, order), dtype=_dtype(source))
    infinity = low.writer.constant(torch.tensor(math.inf, dtype=_dtype(source)))
    low.add(g.Equal(magnitude, infinity, low.result(node, order)), node)


def _refuse_fill(node: Node, program: ExportedProgram) -> Rejection | None:
    fixed = isinstance(node.args[1], (int, float))
    return None if fixed else Rejection("the value that it repeats is computed")


def _fill(low: Lowering, node: Node) -> None:
    """Emit a selection of the scalar for each element, because every node of a payload reads an operand."""
    (source,) = tensors_of(node)
    order = low.order_of(source)
    number = low.writer.constant(torch.tensor(node.args[1], dtype=_dtype(node)))
    low.add(g.Select(truth(low, True), number, low.read(source, order), low.result(node, order)), node)


_COMPARISONS: dict[str, tuple[type, bool]] = {
    "eq": (g.Equal, False),
    "ne": (g.NotEqual, False),
    "lt": (g.Less, False),
    "le": (g.LessOrEqual, False),
    "gt": (g.Less, True),
    "ge": (g.LessOrEqual, True),
}

RULES: dict[str, Rule] = {
    "where.self": Rule(_select, _refuse_select, any_tensors=True),
    **{f"{name}.Tensor": _comparison(*row) for name, row in _COMPARISONS.items()},
    **{f"{name}.Scalar": _comparison_with_scalar(*row) for name, row in _COMPARISONS.items()},
    **{name: _logic(conjunction) for name in ("logical_and.default", "bitwise_and.Tensor")},
    **{name: _logic(disjunction) for name in ("logical_or.default", "bitwise_or.Tensor")},
    **{name: _logic(_exclusive_or) for name in ("logical_xor.default", "bitwise_xor.Tensor")},
    "full_like.default": Rule(_fill, _refuse_fill, booleans=True),
    "bitwise_not.default": _logic(_not),
    "logical_not.default": Rule(_not, mixes_dtypes=True, booleans=True),
    "isnan.default": Rule(_is_nan, mixes_dtypes=True, booleans=True),
    "isinf.default": Rule(_is_infinite, mixes_dtypes=True, booleans=True),
}
