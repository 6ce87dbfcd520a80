# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Backend operators, which replace patterns of other operators.

They have kernels like other operators of a program, and a delegate can contain them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch._ops import OpOverload

from executorch.exir.dialects.edge._ops import EdgeOpOverload, EdgeOpOverloadPacket

_KERNELS = ("Meta", "CompositeExplicitAutograd", "CompositeImplicitAutograd")
# Operators that other dialects own.
_NOT_BACKENDS = frozenset({"aten", "prim", "prims", "higher_order", "dim_order_ops"})


def require_backend_library(namespace: str) -> None:
    """Raise RuntimeError for a library that belongs to another dialect."""
    if namespace in _NOT_BACKENDS:
        raise RuntimeError(
            f"{namespace} op library does not belong to backend ops: bind patterns to operators of a library of your "
            "own (bind_pattern_to_op)"
        )


def can_be_traced(op: OpOverload) -> bool:
    """Return whether the operator has a kernel that computes the shapes of its results."""
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key) for key in _KERNELS)


class BackendOpOverload(EdgeOpOverload):
    """One overload of a backend operator, e.g. `ops.backend.my_backend.fused.default`.

    AssertionError (the documented error): no kernel of the operator can be traced.
    """

    __module__ = "executorch.exir.dialects.backend._ops"
    # The pattern that is bound to the operator.
    _equivalent_callable: Callable[..., object] | None = None

    def __init__(self, op_overload: EdgeOpOverload | OpOverload) -> None:
        super().__init__(op_overload._op if isinstance(op_overload, EdgeOpOverload) else op_overload)
        if not can_be_traced(self._op):
            raise AssertionError(
                f"backend operator {self._op.name()} has no kernel for any of {', '.join(_KERNELS)}: programs that "
                "call it could not be traced. Bind a pattern to it (bind_pattern_to_op), or register one of them"
            )

    def __reduce__(self) -> tuple[object, ...]:
        return _backend_overload, (self._op.namespace, *str(self._op.__name__).rsplit(".", 1))

    def __repr__(self) -> str:
        return f"<BackendOpOverload: {self.__name__}>: schema = {self._schema}"


def _backend_overload(namespace: str, name: str, overload: str) -> BackendOpOverload:
    from executorch.exir.dialects._ops import ops

    backend_op: BackendOpOverload = getattr(getattr(getattr(ops.backend, namespace), name), overload)
    return backend_op


class BackendOpOverloadPacket(EdgeOpOverloadPacket):
    """All overloads of one of a backend's operators."""

    __module__ = "executorch.exir.dialects.backend._ops"

    def _wrap(self, overload: OpOverload) -> BackendOpOverload:
        return BackendOpOverload(overload)
