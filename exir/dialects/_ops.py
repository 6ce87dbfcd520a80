# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`ops.edge.<namespace>.<name>.<overload>` and `ops.backend.…`: the operators of `torch.ops`, seen by dialects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket

from executorch.exir.dialects.backend._ops import BackendOpOverload, BackendOpOverloadPacket
from executorch.exir.dialects.edge._ops import EdgeOpOverload, EdgeOpOverloadPacket


class _OpNamespace:
    """`ops.edge.aten`: overload packets by name, made once."""

    def __init__(self, dialect: str, name: str, packet: type[EdgeOpOverloadPacket]) -> None:
        self.__name__ = f"executorch.exir.dialects.{dialect}.{name}"
        self._name = name
        self._packet = packet

    def __getattr__(self, op_name: str) -> EdgeOpOverloadPacket:
        if op_name.startswith("__"):
            raise AttributeError(op_name)
        parent = getattr(getattr(torch.ops, self._name), op_name)
        made = self._packet(f"{self._name}::{op_name}", op_name, parent)
        setattr(self, op_name, made)
        return made


class _DialectNamespace:
    """`ops.edge`: operator namespaces by name, made once."""

    def __init__(self, dialect: str, packet: type[EdgeOpOverloadPacket]) -> None:
        self._dialect = dialect
        self._packet = packet

    def __getattr__(self, namespace: str) -> _OpNamespace:
        if namespace.startswith("__"):
            raise AttributeError(namespace)
        made = _OpNamespace(self._dialect, namespace, self._packet)
        setattr(self, namespace, made)
        return made


class _Ops:
    """The root of both namespaces; see the module's docstring."""

    def __init__(self) -> None:
        self.edge = _DialectNamespace("edge", EdgeOpOverloadPacket)
        self.backend = _DialectNamespace("backend", BackendOpOverloadPacket)


ops = _Ops()


def edge_op(op: OpOverload) -> EdgeOpOverload:
    """The edge overload that wraps `op`: always the same object for the same operator."""
    name = op._schema.name.split("::")[1]
    found: EdgeOpOverload = getattr(getattr(getattr(ops.edge, op.namespace), name), op._overloadname)
    return found


def bind_pattern_to_op(
    library: torch.library.Library, schema_or_name: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: registers the decorated function as the meaning of a backend operator.

    `schema_or_name` is a full schema (`"my_op(Tensor x) -> Tensor"`) or a name, with the schema then read from the
    function's annotations. The decorated function stays usable as a pattern: `ops.backend.<namespace>.<name>` is the
    operator it stands for.
    """

    def bind(function: Callable[..., Any]) -> Callable[..., Any]:
        schema = schema_or_name
        if "(" not in schema:
            schema += str(torch.library.infer_schema(function, mutates_args=()))
        library.define(schema)
        name = schema.split("(")[0]
        library.impl(name, function, "CompositeExplicitAutograd")
        namespace = getattr(torch.ops, library.ns)
        packet_name, _, overload_name = name.partition(".")
        packet: OpOverloadPacket = getattr(namespace, packet_name)
        overload: OpOverload = getattr(packet, overload_name or "default")
        function._backend_op = BackendOpOverload(overload)  # type: ignore[attr-defined]
        return function

    return bind


__all__ = [
    "BackendOpOverload",
    "BackendOpOverloadPacket",
    "EdgeOpOverload",
    "EdgeOpOverloadPacket",
    "bind_pattern_to_op",
    "edge_op",
    "ops",
]
