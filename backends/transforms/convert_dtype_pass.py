# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Compute tensors of one dtype in another; inputs and outputs keep their dtype."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx
from torch.fx import Node
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.dialects import dim_order_ops  # noqa: F401  (registers the operators)
from executorch.exir.dialects._ops import ops
from executorch.exir.pass_base import ExportPass


class ConvertDtypePass(ExportPass):
    """Converts inputs of `src_dtype` to `dst_dtype`, and outputs back.

    _skip_dim_order: convert by `_to_copy` instead of `_to_dim_order_copy`.
    """

    def __init__(self, src_dtype: torch.dtype, dst_dtype: torch.dtype, _skip_dim_order: bool = False) -> None:
        super().__init__()
        edge: Any = ops.edge
        by_dim_order = edge.dim_order_ops._to_dim_order_copy.default
        self.copy_op = edge.aten._to_copy.default if _skip_dim_order else by_dim_order
        self.src_dtype = src_dtype
        self.dst_dtype = dst_dtype

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        graph = graph_module.graph
        returned: Any = graph.output_node().args[0]
        values = [node.meta.get("val") if isinstance(node, Node) else None for node in returned]
        for node in list(graph.nodes):
            if node.op == "placeholder" and self._is_source(node.meta.get("val")):
                with graph.inserting_after(node):
                    copy = self._converted(graph, node, self.dst_dtype)
                node.replace_all_uses_with(copy, delete_user_cb=lambda user, copy=copy: user is not copy)
            elif node.op == "call_function" and node.target is not operator.getitem:
                self._retype(node)
            elif node.op == "output":
                self._convert_results(graph, node, values)
        graph_module.recompile()
        return PassResult(graph_module, True)

    def _is_source(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor) and value.dtype is self.src_dtype

    def _converted(self, graph: fx.Graph, node: Node, dtype: torch.dtype) -> Node:
        copy = graph.call_function(self.copy_op, (node,), {"dtype": dtype})
        copy.meta["val"] = node.meta["val"].to(dtype)
        return copy

    def _retype(self, node: Node) -> None:
        if not self._is_source(node.meta.get("val")):
            return
        node.meta["val"] = node.meta["val"].to(self.dst_dtype)
        if any(item.name == "dtype" for item in node.target._schema.arguments):  # type: ignore[union-attr]
            node.kwargs = {**node.kwargs, "dtype": self.dst_dtype}

    def _convert_results(self, graph: fx.Graph, output: Node, values: list[Any]) -> None:
        results: Any = output.args[0]
        with graph.inserting_before(output):
            converted = tuple(
                self._converted(graph, node, self.src_dtype) if self._is_source(value) else node
                for node, value in zip(results, values, strict=True)
            )
        output.args = (converted,)


class I64toI32(ConvertDtypePass):
    """Computes int64 tensors in int32."""

    def __init__(self, _skip_dim_order: bool = False) -> None:
        super().__init__(torch.int64, torch.int32, _skip_dim_order)
