# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace memory formats by dim orders (`_to_copy`, `clone` and `empty` → `dim_order_ops`), and the reverse."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.fx.node import Argument
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.dialects import device_copy_ops, dim_order_ops  # noqa: F401  (register their operators)
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.dim_order_utils import get_memory_format
from executorch.exir.error import ExportError
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import HookedGraphPass
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
_MEMORY_FORMAT_OPERATORS = {
    _dim_order._to_dim_order_copy.default: exir_ops.edge.aten._to_copy.default,
    _dim_order._clone_dim_order.default: exir_ops.edge.aten.clone.default,
    _dim_order._empty_dim_order.default: exir_ops.edge.aten.empty.memory_format,
}


def _dense_dim_order(value: torch.Tensor) -> list[int]:
    """Return the dim order of a value. It is contiguous if the value overlaps itself (stride 0), as a copy is."""
    if any(isinstance(step, int) and step == 0 for step in value.stride()):
        return list(range(value.dim()))
    return list(dim_order_from_stride(value.stride()))


class MemoryFormatOpsPass(HookedGraphPass):
    """Replaces the operators of `DIM_ORDER_OPERATORS`. The dim order of the result becomes an explicit argument."""

    def rewrite_graphs(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            changed: set[fx.Node] = set()
            for node in module.graph.nodes:
                target = node.target
                name = target.name() if node.op == "call_function" and callable(getattr(target, "name", None)) else ""
                if name in DIM_ORDER_OPERATORS:
                    kwargs: dict[str, Argument] = {key: v for key, v in node.kwargs.items() if key != "memory_format"}
                    kwargs["dim_order"] = _dense_dim_order(node.meta["val"])
                    retarget(node, DIM_ORDER_OPERATORS[name], kwargs=kwargs)
                    changed.add(node)
            if changed:
                refresh_values(module, changed)
                modified = True
        return PassResult(graph_module, modified)


class DimOrderOpsRevertPass(HookedGraphPass):
    """Replaces operators with a dim order by the edge operators with a memory format that they came from.

    For backends that read memory formats. Raises `ExportError` for a dim order without a memory format.
    """

    def rewrite_graphs(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            changed = {node for node in module.graph.nodes if node.target in _MEMORY_FORMAT_OPERATORS}
            for node in changed:
                target = _MEMORY_FORMAT_OPERATORS[node.target]
                options = {argument.name for argument in target._schema.arguments}
                kwargs = {key: value for key, value in node.kwargs.items() if key in options}
                retarget(node, target, kwargs={**kwargs, "memory_format": _memory_format(node)})
            if changed:
                refresh_values(module, changed)
                modified = True
        return PassResult(graph_module, modified)


def _memory_format(node: fx.Node) -> torch.memory_format:
    dim_order: Any = node.kwargs.get("dim_order")
    source = node.args[0].meta["val"] if isinstance(node.args[0], fx.Node) else None
    try:
        return get_memory_format(None if dim_order is None else list(dim_order))
    except ValueError as error:
        # A copy to the source's own dim order needs no name for it.
        if isinstance(source, torch.Tensor) and _dense_dim_order(source) == dim_order:
            return torch.preserve_format
        raise ExportError("revert dim orders", node, str(error)) from error
