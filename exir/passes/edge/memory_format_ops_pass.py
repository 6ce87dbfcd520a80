# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Memory formats become dim orders: `_to_copy`, `clone` and `empty` → their `dim_order_ops` counterparts."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from executorch.exir.dialects import device_copy_ops, dim_order_ops  # noqa: F401  (register their operators)
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.rewrite.fake_values import refresh_values
from executorch.exir.rewrite.node_rewrite import retarget
from executorch.exir.tensor import dim_order_from_stride

_dim_order = exir_ops.edge.dim_order_ops

# operator with a memory format → operator with a dim order
DIM_ORDER_OPERATORS = {
    "aten::_to_copy": _dim_order._to_dim_order_copy.default,
    "aten::clone": _dim_order._clone_dim_order.default,
    "aten::empty.memory_format": _dim_order._empty_dim_order.default,
}


def _dense_dim_order(value: torch.Tensor) -> list[int]:
    """Dim order of a value; contiguous for one that overlaps itself (a copy of it is contiguous)."""
    if any(isinstance(step, int) and step == 0 for step in value.stride()):
        return list(range(value.dim()))
    return list(dim_order_from_stride(value.stride()))


class MemoryFormatOpsPass(PassBase):
    """Replaces the operators of `DIM_ORDER_OPERATORS`; the dim order is always written out, as the result has it."""

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for held in all_graph_modules(graph_module):
            changed: set[fx.Node] = set()
            for node in held.graph.nodes:
                target = node.target
                name = target.name() if node.op == "call_function" and callable(getattr(target, "name", None)) else ""
                if name in DIM_ORDER_OPERATORS:
                    kwargs: dict[str, Any] = {key: v for key, v in node.kwargs.items() if key != "memory_format"}
                    kwargs["dim_order"] = _dense_dim_order(node.meta["val"])
                    retarget(node, DIM_ORDER_OPERATORS[name], kwargs=kwargs)
                    changed.add(node)
            if changed:
                refresh_values(held, changed)
                modified = True
        return PassResult(graph_module, modified)
