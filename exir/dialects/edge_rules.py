# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Rules of the Edge dialect, and of graphs of Core ATen."""

from __future__ import annotations

import operator
from collections.abc import Collection
from functools import cache

import torch
from torch import fx
from torch._ops import HigherOrderOperator, OpOverload

from executorch.exir.dialects.backend._ops import BackendOpOverload
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.dialects.executorch_prim_ops import FUNCTIONS_OF_SEVERAL_PRIMS, PRIM_OF_PYTHON_FUNCTION
from executorch.exir.dialects.legal_dtypes import check_dtypes
from executorch.exir.dialects.legal_ops import is_core_aten, is_legal_in_edge
from executorch.exir.dialects.verifier import Rule, reject_if
from executorch.exir.error import Rejection
from executorch.exir.operator.convert import is_functional

CHECKED_IN_PLACE = "checked_in_place"
"""Key of `node.meta`: a pass made this operator an in-place one, and has checked that no reader sees the difference."""

_MEMORY_FORMAT_OPERATORS = ("aten::_to_copy", "aten::clone", "aten::empty.memory_format")
_SIZE_OPERATORS = ("aten::sym_size.int", "aten::sym_numel", "aten::sym_stride.int", "aten::sym_storage_offset")
_PYTHON_MODULES = ("_operator", "math")
_NUMBERS = (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool)


def _is_size_function(target: object) -> bool:
    is_known = target is operator.getitem or target in PRIM_OF_PYTHON_FUNCTION or target in FUNCTIONS_OF_SEVERAL_PRIMS
    return is_known or getattr(target, "__module__", "") in _PYTHON_MODULES


def _edge(node: fx.Node) -> EdgeOpOverload | None:
    target = node.target
    return target if isinstance(target, EdgeOpOverload) and not isinstance(target, BackendOpOverload) else None


def _is_foreign(node: fx.Node) -> bool:
    target = node.target
    if isinstance(target, OpOverload):
        return target.name() not in _SIZE_OPERATORS
    is_known = isinstance(target, (EdgeOpOverload, HigherOrderOperator)) or _is_size_function(target)
    return node.op != "call_function" or not is_known


def _numbers_for_tensors(node: fx.Node) -> list[str]:
    op = _edge(node)
    if op is None:
        return []
    return [name for place, name in _tensors(op) if place < len(node.args) and isinstance(node.args[place], _NUMBERS)]


@cache
def _tensors(op: EdgeOpOverload) -> tuple[tuple[int, str], ...]:
    """Return the places and names of the arguments of type Tensor."""
    return tuple((place, item.name) for place, item in enumerate(op._schema.arguments) if str(item.type) == "Tensor")


def _is_dense(value: object) -> bool:
    if not isinstance(value, torch.Tensor):
        return True
    is_empty = any(isinstance(size, int) and size == 0 for size in value.shape)
    return is_empty or not any(isinstance(step, int) and step == 0 for step in value.stride())


def _results(node: fx.Node) -> list[object]:
    value = node.meta.get("val")
    return list(value) if isinstance(value, (list, tuple)) else [value]


# Only operators of the dialect may be called.
FOREIGN = reject_if(
    _is_foreign, lambda node: f"a {node.op} of {node.target} is not in the edge dialect; expected an edge operator"
)
# Operators are functional: no views, and no in-place operators but checked ones.
FUNCTIONAL = reject_if(
    lambda node: (
        (op := _edge(node)) is not None
        and op.namespace != "executorch_prim"
        and CHECKED_IN_PLACE not in node.meta
        and not is_functional(op._op)
    ),
    lambda node: f"{node.target} writes to or aliases an argument; the edge dialect is functional",
)
# An argument of type Tensor is a tensor, not a scalar.
ALL_TENSORS = reject_if(
    lambda node: bool(_numbers_for_tensors(node)),
    lambda node: f"argument {_numbers_for_tensors(node)} is a number; expected a tensor (see ScalarToTensorPass)",
)
# Dim orders instead of memory formats.
NO_MEMORY_FORMATS = reject_if(
    lambda node: (op := _edge(node)) is not None and op.name() in _MEMORY_FORMAT_OPERATORS,
    lambda node: f"{node.target} takes a memory format; expected its dim_order_ops counterpart",
)
MEMORY_FORMATS = reject_if(
    lambda node: (op := _edge(node)) is not None and op.namespace == "dim_order_ops",
    lambda node: f"{node.target} takes a dim order, but the configuration keeps memory formats (_skip_dim_order)",
)
# A result that overlaps itself cannot be stored.
DENSE = reject_if(
    lambda node: _edge(node) is not None and not all(_is_dense(value) for value in _results(node)),
    lambda node: "a result has a stride of 0; expected a dense tensor",
)


def legal_operators(exceptions: Collection[OpOverload]) -> Rule:
    """Return the rule that allows only Core ATen, the operators of `legal_ops`, custom operators, and `exceptions`."""
    names = {op.name() for op in exceptions}

    def broken(node: fx.Node) -> bool:
        op = _edge(node)
        if op is None or op.name() in names or CHECKED_IN_PLACE in node.meta:
            return False
        return not is_legal_in_edge(op._op)

    return reject_if(broken, _not_core)


def legal_dtypes(exceptions: Collection[OpOverload]) -> Rule:
    """Return the rule that allows only the dtypes of the operator table, and any dtypes for `exceptions`."""
    names = {op.name() for op in exceptions}

    def rule(node: fx.Node) -> Rejection | None:
        op = _edge(node)
        return None if op is None or op.name() in names else check_dtypes(node)

    return rule


def edge_rules(skip_dim_order: bool = False, exceptions: Collection[OpOverload] = ()) -> list[Rule]:
    """Return the rules of the Edge dialect, the most basic one first."""
    formats = MEMORY_FORMATS if skip_dim_order else NO_MEMORY_FORMATS
    return [FOREIGN, FUNCTIONAL, legal_operators(exceptions), ALL_TENSORS, legal_dtypes(exceptions), formats, DENSE]


def core_aten_rules(exceptions: Collection[OpOverload] = ()) -> list[Rule]:
    """Return the rules for a graph that is decomposed to Core ATen."""
    names = {op.name() for op in exceptions}

    def broken(node: fx.Node) -> bool:
        op = node.target
        if not isinstance(op, OpOverload) or op.namespace != "aten" or op.name() in names:
            return False
        return not (is_core_aten(op) or is_legal_in_edge(op))

    return [ATEN_CALLS, reject_if(broken, _not_core)]


def _not_core(node: fx.Node) -> str:
    return (
        f"{node.target} is not a Core ATen operator, and nothing decomposes it: write it with others, make it "
        "an operator of your own, or, for a backend or kernel that has it, allow it with "
        "EdgeCompileConfig(_core_aten_ops_exception_list=[...])"
    )


ATEN_CALLS = reject_if(
    lambda node: (
        node.op != "call_function"
        or not (isinstance(node.target, (OpOverload, HigherOrderOperator)) or _is_size_function(node.target))
    ),
    lambda node: f"a {node.op} of {node.target} is not an ATen operator",
)
