# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Merge dims that permutes between two views keep together, and drop dims of size 1."""

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
_UNSQUEEZE = torch.ops.aten.unsqueeze_copy.default
_USUAL_RANK = 4
"""The rank of images and of heads of attention. Backends know such permutes, which stay as they are."""


def _grouped_dims(sizes: list[object], permuted: list[int]) -> list[list[int]]:
    """Return the dims of each dim that remains, in permuted order: neighbors that stay neighbors are merged."""
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


def _chain(node: fx.Node) -> tuple[list[fx.Node], list[int]]:
    """Return a permute, the permutes before it and their operand, and the dims of all these permutes in one."""
    rank = node.meta["val"].dim()
    nodes, dims = [node], list(range(rank))
    while nodes[-1].target is _PERMUTE:
        given = argument(nodes[-1], "dims")
        dims = [given[dim] % rank for dim in dims]
        source: Any = nodes[-1].args[0]
        nodes.append(source)
    return nodes, dims


def _rewrite(node: fx.Node) -> bool:
    if not node.users or not all(user.target is _VIEW for user in node.users):
        return False
    nodes, dims = _chain(node)
    view = nodes[-1]
    if view.target not in (_VIEW, _UNSQUEEZE):
        return False
    shape = view.meta["val"].shape
    written = argument(view, "size") if view.target is _VIEW else shape
    given = [size if isinstance(size, int) else written[dim] for dim, size in enumerate(shape)]
    if any(isinstance(size, torch.SymInt) for size in given):  # no argument of `view` has it
        return False
    rank = len(given)
    groups = _grouped_dims(given, dims)
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
    for unread in nodes:
        if not unread.users:
            unread.graph.erase_node(unread)
    return True


class LowerPermuteRankPass(GraphPass):
    """Lowers the rank of permutes between views: drops dims of size 1, merges dims that stay together.

    Successive permutes become one.

    Windows of images, as einops writes them, are permutes of six or seven dims, one of them often of size 1:
    view [1, 8, 7, 8, 7, C] → permute [1, 8, 8, 7, 7, C] → view becomes view [8, 7, 8, 7·C] → permute [8, 8, 7, 7·C].

    Helps: windows of images, as einops writes them. Backends limit the rank: 6 in XNNPACK.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            # The last permute first: its rewrite erases those before it that nothing else reads.
            for node in reversed(module.graph.find_nodes(op="call_function", target=_PERMUTE)):
                modified = _rewrite(node) or modified
        return PassResult(graph_module, modified)
