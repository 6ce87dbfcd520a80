# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Edge operators: wrappers of ATen or custom operators that mark a call as one of the Edge dialect."""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket

from executorch.exir.dialects.edge.schema import EdgeSchema
from executorch.exir.operator.convert import require_out_variant


class EdgeOpOverload:
    """One overload, e.g. `ops.edge.aten.add.Tensor`. Calling it runs the wrapped operator.

    Attributes of the wrapped `torch._ops.OpOverload` (tags, namespace, overloadpacket, …) are readable through it.
    """

    __module__ = "executorch.exir.dialects.edge._ops"

    def __init__(self, op: OpOverload, schema: torch.FunctionSchema | None = None) -> None:
        self._op = op
        self._schema = EdgeSchema(op, schema if schema is not None else op._schema)
        self.__name__ = f"{op.namespace}.{op.__name__}"

    def to_out_variant(self) -> OpOverload:
        """Return the ATen overload that writes to `out=` arguments. Raises `NoOutVariantError` without one."""
        return require_out_variant(self._op)

    def name(self) -> str:
        """Qualified name with overload, e.g. `aten::add.Tensor`."""
        return str(self._op.name())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_op":
            raise AttributeError(name)
        return getattr(self._op, name)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self._op(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, object]) -> EdgeOpOverload:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _edge_overload, (self._op.namespace, *str(self._op.__name__).rsplit(".", 1))

    def __repr__(self) -> str:
        return f"<EdgeOpOverload: {self.__name__}>: schema = {self._schema}"

    def __str__(self) -> str:
        return self.__name__


def _edge_overload(namespace: str, name: str, overload: str) -> EdgeOpOverload:
    from executorch.exir.dialects._ops import ops

    edge_op: EdgeOpOverload = getattr(getattr(getattr(ops.edge, namespace), name), overload)
    return edge_op


class EdgeOpOverloadPacket:
    """All overloads of one name, e.g. `ops.edge.aten.add`."""

    __module__ = "executorch.exir.dialects.edge._ops"

    def __init__(self, qualified_op_name: str, op_name: str, parent_overload_packet: OpOverloadPacket) -> None:
        self._qualified_op_name = qualified_op_name
        self.__name__ = op_name
        self._parent = parent_overload_packet
        self._overloads: dict[str, EdgeOpOverload] = {}

    @property
    def op(self) -> OpOverloadPacket:
        """The wrapped packet of `torch.ops`."""
        return self._parent

    def overloads(self) -> list[str]:
        """Return the names of the overloads, "default" for the unnamed one."""
        return list(self._parent.overloads())

    def _wrap(self, overload: OpOverload) -> EdgeOpOverload:
        return EdgeOpOverload(overload)

    def __getattr__(self, key: str) -> Any:
        if key.startswith("__") or key in ("_parent", "_overloads"):
            raise AttributeError(key)
        attribute = getattr(self._parent, key)
        if not isinstance(attribute, OpOverload):
            return attribute
        if key not in self._overloads:
            self._overloads[key] = self._wrap(attribute)
        return self._overloads[key]

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self._parent(*args, **kwargs)

    def __hash__(self) -> int:
        return hash(self._parent)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EdgeOpOverloadPacket) and type(self) is type(other) and self._parent == other._parent

    def __repr__(self) -> str:
        return f"<{type(self).__name__}(op='{self._qualified_op_name}')>"

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")
