# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Backend operators: what a backend's patterns are replaced by before delegation ends."""

from __future__ import annotations

from torch._ops import OpOverload

from executorch.exir.dialects.edge._ops import EdgeOpOverload, EdgeOpOverloadPacket


class BackendOpOverload(EdgeOpOverload):
    """One overload of a backend's own operator, e.g. `ops.backend.my_backend.fused.default`."""

    __module__ = "executorch.exir.dialects.backend._ops"

    def __init__(self, op_overload: EdgeOpOverload | OpOverload) -> None:
        super().__init__(op_overload._op if isinstance(op_overload, EdgeOpOverload) else op_overload)

    def __repr__(self) -> str:
        return f"<BackendOpOverload: {self.__name__}>: schema = {self._schema}"


class BackendOpOverloadPacket(EdgeOpOverloadPacket):
    """All overloads of one of a backend's operators."""

    __module__ = "executorch.exir.dialects.backend._ops"

    def _wrap(self, overload: OpOverload) -> BackendOpOverload:
        return BackendOpOverload(overload)
