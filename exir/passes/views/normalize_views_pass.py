# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Rewrite operators that change only sizes as `view_copy`, so that one pass can turn all of them into views."""

from __future__ import annotations

import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.rewrite.layouts import is_contiguous
from executorch.exir.rewrite.node_rewrite import retarget

_VIEW = exir_ops.edge.aten.view_copy.default
_RESHAPING = frozenset(
    {
        "aten::unsqueeze_copy",
        "aten::squeeze_copy",
        "aten::squeeze_copy.dim",
        "aten::squeeze_copy.dims",
        "aten::_unsafe_view",
    }
)


def _moves_nothing(source: torch.Tensor, dims: list[int]) -> bool:
    """Return whether a permutation moves only dimensions of size 1, which keeps the order of elements."""
    moved = [dim for dim in dims if not (isinstance(source.shape[dim], int) and source.shape[dim] == 1)]
    return moved == sorted(moved)


def _single_expand(source: torch.Tensor, result: torch.Tensor) -> bool:
    """Return whether an expand adds only leading dimensions of size 1."""
    return _without_ones(result) == _without_ones(source)


def _without_ones(value: torch.Tensor) -> list[str]:
    """Return the sizes except constants 1, as text: comparing symbols would add guards."""
    return [str(size) for size in value.shape if not (isinstance(size, int) and size == 1)]


class NormalizeViewsPass(GraphPass):
    """Replaces squeeze, unsqueeze, and permutes and expands that only move or add dimensions of size 1."""

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for node in module.graph.nodes:
                target = node.target
                name = target.name() if node.op == "call_function" and callable(getattr(target, "name", None)) else ""
                if self._only_reshapes(node, name) and _at_most_one_unknown(node.meta["val"]):
                    sizes = [size if isinstance(size, int) else -1 for size in node.meta["val"].shape]
                    retarget(node, _VIEW, (node.args[0], sizes), {})
                    modified = True
        return PassResult(graph_module, modified)

    def _only_reshapes(self, node: fx.Node, name: str) -> bool:
        if name in _RESHAPING:
            both = node.args[0].meta["val"], node.meta["val"]  # type: ignore[union-attr]
            return all(is_contiguous(value) for value in both)
        if name == "aten::permute_copy":
            source = node.args[0].meta["val"]  # type: ignore[union-attr]
            dims = [dim % source.dim() for dim in node.args[1]]  # type: ignore[union-attr]
            return is_contiguous(source) and _moves_nothing(source, dims)
        if name == "aten::expand_copy":
            source = node.args[0].meta["val"]  # type: ignore[union-attr]
            return (
                is_contiguous(source) and is_contiguous(node.meta["val"]) and _single_expand(source, node.meta["val"])
            )
        return False


def _at_most_one_unknown(value: torch.Tensor) -> bool:
    return sum(not isinstance(size, int) for size in value.shape) <= 1
