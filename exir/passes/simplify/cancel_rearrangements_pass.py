# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Merge two successive permutes, views, or copies to a dim order into one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.rewrite.layouts import is_contiguous
from executorch.exir.rewrite.node_rewrite import argument, retarget

_DIM_ORDER_COPIES = ("dim_order_ops::_to_dim_order_copy", "dim_order_ops::_clone_dim_order")


def _name(node: object) -> str:
    target = getattr(node, "target", None)
    return str(target.name()) if callable(getattr(target, "name", None)) else ""  # type: ignore[union-attr]


def _merge_permutes(node: fx.Node, source: fx.Node) -> bool:
    if _name(source) != "aten::permute_copy" or not is_contiguous(node.meta["val"]):
        return False
    rank = node.meta["val"].dim()
    inner = [dim % rank for dim in argument(source, "dims")]
    retarget(node, node.target, (source.args[0], [inner[dim % rank] for dim in argument(node, "dims")]), {})
    return True


def _merge_views(node: fx.Node, source: fx.Node) -> bool:
    origin: Any = source.args[0]
    if _name(source) != "aten::view_copy" or not is_contiguous(origin.meta.get("val")):
        return False
    node.replace_input_with(source, origin)
    return True


def _merge_copies(node: fx.Node, source: fx.Node) -> bool:
    origin: Any = source.args[0]
    if _name(source) not in _DIM_ORDER_COPIES:
        return False
    one, other = origin.meta.get("val"), source.meta["val"]
    if not isinstance(one, torch.Tensor) or one.dtype != other.dtype:  # a conversion may round
        return False
    node.replace_input_with(source, origin)
    return True


_MERGES: dict[str, Callable[[fx.Node, fx.Node], bool]] = {
    "aten::permute_copy": _merge_permutes,
    "aten::view_copy": _merge_views,
    **dict.fromkeys(_DIM_ORDER_COPIES, _merge_copies),
}


class CancelRearrangementsPass(GraphPass):
    """Makes the second of two permutes, views or copies to a dim order read the first one's operand.

    RemoveNoopPass then removes calls that change nothing, and dead-code elimination those without readers.

    Helps: transposes around layers.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for node in module.graph.nodes:
                merge = _MERGES.get(_name(node)) if node.op == "call_function" else None
                if merge is not None and isinstance(node.args[0], fx.Node) and node.args[0].op == "call_function":
                    modified = merge(node, node.args[0]) or modified
        return PassResult(graph_module, modified)
