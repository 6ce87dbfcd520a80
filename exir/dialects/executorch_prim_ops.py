# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators `executorch_prim::…`: arithmetic on sizes, which the runtime computes on scalars."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable

import torch

from executorch.exir.dialects._ops import edge_op
from executorch.exir.dialects.edge._ops import EdgeOpOverload

library = torch.library.Library("executorch_prim", "DEF")

_BINARY = "(Scalar a, Scalar b) -> Scalar"
_COMPARE = "(Scalar a, Scalar b) -> bool"
_UNARY = "(Scalar a) -> Scalar"

# operator name → (schema, Python functions that it replaces in exported graphs; the first one implements it)
_PRIMS: dict[str, tuple[str, tuple[Callable[..., object], ...]]] = {
    "add": (_BINARY, (operator.add,)),
    "sub": (_BINARY, (operator.sub,)),
    "mul": (_BINARY, (operator.mul,)),
    "floordiv": (_BINARY, (operator.floordiv,)),
    "truediv": (_BINARY, (operator.truediv,)),
    "pow": (_BINARY, (operator.pow,)),
    "mod": ("(SymInt a, SymInt b) -> SymInt", (operator.mod,)),
    "eq": (_COMPARE, (operator.eq,)),
    "ne": (_COMPARE, (operator.ne,)),
    "gt": (_COMPARE, (operator.gt,)),
    "lt": (_COMPARE, (operator.lt,)),
    "ge": (_COMPARE, (operator.ge,)),
    "le": (_COMPARE, (operator.le,)),
    "neg": (_UNARY, (operator.neg,)),
    "sym_and": ("(bool a, bool b) -> bool", (operator.and_,)),
    "sym_or": ("(bool a, bool b) -> bool", (operator.or_,)),
    "floor": (_UNARY, (math.floor,)),
    "ceil": (_UNARY, (math.ceil,)),
    "round": (_UNARY, (builtins.round,)),
    "trunc": (_UNARY, (math.trunc,)),
    "sym_float": (_UNARY, (torch.sym_float,)),
    "sym_int": (_UNARY, (torch.sym_int,)),
    "sym_max": (_BINARY, (torch.sym_max,)),
    "sym_min": (_BINARY, (torch.sym_min,)),
    "sym_not": ("(Scalar a) -> bool", (torch.sym_not,)),
    "sym_ite": ("(Scalar b, Scalar t, Scalar f) -> Scalar", (torch.sym_ite,)),
}


def _register() -> dict[object, EdgeOpOverload]:
    replacements: dict[object, EdgeOpOverload] = {}
    for name, (schema, functions) in _PRIMS.items():
        library.define(f"{name}.Scalar{schema}")
        library.impl(f"{name}.Scalar", functions[0], "CompositeExplicitAutograd")
        overload = getattr(torch.ops.executorch_prim, name).Scalar
        for function in functions:
            replacements[function] = edge_op(overload)
    return replacements


# Python function on sizes → edge operator of the runtime
PRIM_OF_PYTHON_FUNCTION = _register()

# Python functions on sizes that passes/edge/replace_sym_ops_pass.py replaces by several of these operators
FUNCTIONS_OF_SEVERAL_PRIMS = (torch.sym_sum, math.sqrt, torch.sym_sqrt)
