# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace the scalar operand of binary operators by a tensor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch._ops import OpOverload

from executorch.exir.dialects._ops import ops
from executorch.exir.pass_base import ExportPass, NodeMetadata

_edge: Any = ops.edge.aten
_aten: Any = torch.ops.aten
_NAMES = ("add", "sub", "mul", "div")


class ReplaceScalarWithTensorArgPass(ExportPass):
    """Replace operators such as `add.Scalar` by `add.Tensor` with a one-element tensor from `full`.

    scalar_to_tensor_ops: scalar overload → tensor overload, edge or ATen; None: `default_ops`. Calls that pass `alpha`
    as a keyword stay unchanged.
    """

    default_ops: Mapping[Any, Any] = {
        getattr(library, name).Scalar: getattr(library, name).Tensor for library in (_edge, _aten) for name in _NAMES
    }

    def __init__(self, scalar_to_tensor_ops: Mapping[Any, Any] | None = None) -> None:
        super().__init__()
        self.scalar_to_tensor_ops = self.default_ops if scalar_to_tensor_ops is None else scalar_to_tensor_ops

    def call_operator(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], meta: NodeMetadata) -> Any:
        if op not in self.scalar_to_tensor_ops or "alpha" in kwargs:
            return super().call_operator(op, args, kwargs, meta)
        return self.get_replacement(op, args, kwargs, meta)

    def get_replacement(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], meta: NodeMetadata) -> Any:
        """The call of the tensor overload that replaces a call; derived classes may override it."""
        # The scalar overload takes `alpha` as third argument, the tensor overload as keyword.
        named = {"alpha": args[2]} if len(args) > 2 else {}
        value = args[0].to_tensor()
        full = (_aten if isinstance(op, OpOverload) else _edge).full.default
        number = super().call_operator(
            full, ((1,), float(args[1])), {"dtype": value.dtype, "device": value.device}, meta
        )
        return super().call_operator(self.scalar_to_tensor_ops[op], (args[0], number), {**named, **kwargs}, meta)
