# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`ops.edge.<namespace>.<name>.<overload>` and `ops.backend.…`: the operators of `torch.ops` in each dialect."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch._ops import OpOverload

from executorch.exir.dialects.backend._ops import (
    BackendOpOverload,
    BackendOpOverloadPacket,
    can_be_traced,
    require_backend_library,
)
from executorch.exir.dialects.edge._ops import EdgeOpOverload, EdgeOpOverloadPacket
from executorch.exir.operator.definitions import define_operators


class _OpNamespace:
    """`ops.edge.aten`: overload packets by name, created on first access."""

    def __init__(self, dialect: str, name: str, packet: type[EdgeOpOverloadPacket]) -> None:
        self.__name__ = f"executorch.exir.dialects.{dialect}.{name}"
        self._name = name
        self._packet = packet

    def __getattr__(self, op_name: str) -> EdgeOpOverloadPacket:
        if op_name.startswith("__"):
            raise AttributeError(op_name)
        parent = getattr(getattr(torch.ops, self._name), op_name)
        packet = self._packet(f"{self._name}::{op_name}", op_name, parent)
        setattr(self, op_name, packet)
        return packet


class _DialectNamespace:
    """`ops.edge`: operator namespaces by name, created on first access."""

    def __init__(self, dialect: str, packet: type[EdgeOpOverloadPacket]) -> None:
        self._dialect = dialect
        self._packet = packet

    def __getattr__(self, namespace: str) -> _OpNamespace:
        if namespace.startswith("__"):
            raise AttributeError(namespace)
        if self._packet is BackendOpOverloadPacket:
            require_backend_library(namespace)
        define_operators(namespace)
        operators = _OpNamespace(self._dialect, namespace, self._packet)
        setattr(self, namespace, operators)
        return operators


class _Ops:
    """The root of both dialects' namespaces."""

    def __init__(self) -> None:
        self.edge = _DialectNamespace("edge", EdgeOpOverloadPacket)
        self.backend = _DialectNamespace("backend", BackendOpOverloadPacket)


ops = _Ops()


def edge_op(op: OpOverload) -> EdgeOpOverload:
    """Return the edge overload that wraps `op`; the same object for each call with `op`."""
    name = op._schema.name.split("::")[1]
    overload: EdgeOpOverload = getattr(getattr(getattr(ops.edge, op.namespace), name), op._overloadname)
    return overload


def bind_pattern_to_op(
    library: torch.library.Library, schema_or_name: str
) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Return a decorator that binds a function, a pattern of operators, to a backend operator with that meaning.

    `schema_or_name`: a schema to define (`"my_op.Tensor(Tensor x) -> Tensor"`, the library's namespace is optional),
    or a name. If the library has no operator with that name, its schema comes from the function's annotations.
    An operator without a kernel gets the function as its composite kernel, so that torch.export traces the pattern when
    it exports the program again.
    RuntimeError: the namespace belongs to another dialect. ValueError: the schema names another library.
    """

    def bind(function: Callable[..., object]) -> Callable[..., object]:
        require_backend_library(library.ns)
        overload = _defined(library, schema_or_name, function)
        if not can_be_traced(overload):
            library.impl(overload.name().split("::")[1], function, "CompositeImplicitAutograd")
        name = overload._schema.name.split("::")[1]
        bound = getattr(getattr(getattr(ops.backend, library.ns), name), overload._overloadname)
        bound._equivalent_callable = function
        return function

    return bind


def _defined(library: torch.library.Library, schema_or_name: str, function: Callable[..., object]) -> OpOverload:
    """Return the operator, after defining it if necessary."""
    namespace, separator, rest = schema_or_name.partition("(")[0].rpartition("::")
    if separator and namespace != library.ns:
        raise ValueError(f"expected an operator of the library {library.ns}, found {schema_or_name}")
    schema = schema_or_name[len(namespace) + len(separator) :]
    name, _, overload_name = rest.partition(".")
    packet = getattr(getattr(torch.ops, library.ns), name, None)
    overload = getattr(packet, overload_name or "default", None)
    if "(" not in schema and isinstance(overload, OpOverload):
        return overload
    if "(" not in schema:
        schema += str(torch.library.infer_schema(function, mutates_args=()))
    library.define(schema)
    defined: OpOverload = getattr(getattr(getattr(torch.ops, library.ns), name), overload_name or "default")
    return defined


__all__ = [
    "BackendOpOverload",
    "BackendOpOverloadPacket",
    "EdgeOpOverload",
    "EdgeOpOverloadPacket",
    "bind_pattern_to_op",
    "edge_op",
    "ops",
]
