# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Schemas of edge operators: those of the wrapped operators, with the dtypes that each tensor may have."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch._ops import OpOverload

from executorch.exir.dialects.legal_dtypes import allowed_dtypes, tensor_arguments


class EdgeArgument:
    """A tensor argument or a tensor result in the schema of an edge operator.

    Attributes of the wrapped `torch._C.Argument` (name, type, …) are readable through it.
    """

    def __init__(self, argument: torch._C.Argument, op: OpOverload, position: int) -> None:
        self._argument = argument
        self._op = op
        self._position = position

    @property
    def allowed_types(self) -> frozenset[torch.dtype]:
        """Dtypes that the operator takes or returns here, possibly only beside certain dtypes of other arguments."""
        return allowed_dtypes(self._op, self._position)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_argument":
            raise AttributeError(name)
        return getattr(self._argument, name)

    def __repr__(self) -> str:
        return repr(self._argument)


class EdgeSchema:
    """The schema of an edge operator. Attributes of the wrapped `torch.FunctionSchema` are readable through it."""

    def __init__(self, op: OpOverload, schema: torch.FunctionSchema) -> None:
        self._op = op
        self._schema = schema

    @cached_property
    def arguments(self) -> list[torch._C.Argument | EdgeArgument]:
        """Arguments in order. Tensors other than `out` arguments are `EdgeArgument`."""
        arguments: list[torch._C.Argument | EdgeArgument] = list(self._schema.arguments)
        for position, (index, _, _) in enumerate(tensor_arguments(self._op)):
            arguments[index] = EdgeArgument(self._schema.arguments[index], self._op, position)
        return arguments

    @cached_property
    def returns(self) -> list[torch._C.Argument | EdgeArgument]:
        """Results in order. Tensors are `EdgeArgument`."""
        first = len(tensor_arguments(self._op))
        return [
            EdgeArgument(item, self._op, first + index) if "Tensor" in str(item.type) else item
            for index, item in enumerate(self._schema.returns)
        ]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_schema":
            raise AttributeError(name)
        return getattr(self._schema, name)

    def __eq__(self, other: object) -> bool:
        return bool(self._schema == (other._schema if isinstance(other, EdgeSchema) else other))

    def __hash__(self) -> int:
        return hash(self._schema)

    def __str__(self) -> str:
        return str(self._schema)

    __repr__ = __str__
