# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Merge dims that a permute between two views keeps together, and drop dims of size 1."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.rewrite.node_rewrite import argument, insert_before

_VIEW, _PERMUTE = torch.ops.aten.view_copy.default, torch.ops.aten.permute_copy.default
_USUAL_RANK = 4
"""The rank of images and of heads of attention. Backends know such permutes, which stay as they are."""


def _grouped_dims(sizes: list[object], permuted: list[int]) -> list[list[int]]:
    """Return the dims of each dim that remains, in permuted order: neighbours that stay neighbours are merged."""
    kept = [dim for dim in permuted if not (isinstance(sizes[dim], int) and sizes[dim] == 1)]
    before = dict(zip(sorted(kept)[1:], sorted(kept), strict=False))
    groups: list[list[int]] = []
    for dim in kept:
        last = groups[-1][-1] if groups else None
        if last is not None and before.get(dim) == last and all(isinstance(sizes[d], int) for d in (dim, last)):
            groups[-1].append(dim)
        else:
            groups.append([dim])
    return groups


def _is_between_views(node: fx.Node) -> bool:
    if node.op != "call_function" or node.target is not _PERMUTE:
        return False
    source: Any = node.args[0]
    return source.target is _VIEW and bool(node.users) and all(user.target is _VIEW for user in node.users)


def _rewrite(node: fx.Node) -> bool:
    view: Any = node.args[0]
    shape, written = view.meta["val"].shape, argument(view, "size")
    given = [size if isinstance(size, int) else written[dim] for dim, size in enumerate(shape)]
    rank = len(given)
    groups = _grouped_dims(given, [dim % rank for dim in argument(node, "dims")])
    is_inferred = any(isinstance(size, int) and size < 0 for size in given)
    if rank <= _USUAL_RANK or is_inferred or not 0 < len(groups) < rank:
        return False
    in_memory = sorted(groups)
    sizes = [given[dim] if not more else math.prod(given[d] for d in (dim, *more)) for dim, *more in in_memory]
    values = [size if isinstance(size, int) else shape[dim] for (dim, *_), size in zip(in_memory, sizes, strict=True)]
    order = [in_memory.index(group) for group in groups]
    result: torch.Tensor = node.meta["val"]
    merged = insert_before(node, _VIEW, (view.args[0], sizes), {}, result.new_empty(values), view)
    permuted = insert_before(node, _PERMUTE, (merged, order), {}, result.new_empty([values[at] for at in order]))
    node.replace_all_uses_with(permuted)
    node.graph.erase_node(node)
    if not view.users:
        view.graph.erase_node(view)
    return True


class LowerPermuteRankPass(GraphPass):
    """Lowers the rank of a permute between views: drops dims of size 1, merges dims that stay together.

    Windows of images, as einops writes them, are permutes of six or seven dims, one of them often of size 1:
    view [1, 8, 7, 8, 7, C] → permute [1, 8, 8, 7, 7, C] → view becomes view [8, 7, 8, 7·C] → permute [8, 8, 7, 7·C].

    Helps: windows of images, as einops writes them. Backends limit the rank: 6 in XNNPACK.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for node in list(module.graph.nodes):
                modified = (_is_between_views(node) and _rewrite(node)) or modified
        return PassResult(graph_module, modified)
