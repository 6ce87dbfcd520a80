# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Merge dims that permutes between two views keep together, and drop dims of size 1."""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.rewrite.node_rewrite import argument, insert_before, with_values

_VIEW, _PERMUTE = torch.ops.aten.view_copy.default, torch.ops.aten.permute_copy.default
_UNSQUEEZE = torch.ops.aten.unsqueeze_copy.default
_USUAL_RANK = 4
"""The rank of images and of heads of attention. Backends know such permutes, which stay as they are."""
_LARGEST_RANK = 6
"""Permutes that keep more dims apart become several: backends limit the rank."""


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


def _factors(sizes: list[Any], permuted: list[int]) -> list[tuple[list[Any], list[int]]]:
    """Return sizes and dims of successive permutes, each of at most _LARGEST_RANK groups, that are `permuted` in all.

    All but the last one move a group behind the one that it follows in the result, so that the two become one. Of
    these moves the first is the one with the largest block of elements that stay together.
    """
    groups = _grouped_dims(sizes, permuted)
    are_static = [all(isinstance(sizes[dim], int) for dim in group) for group in groups]
    neighbors = zip(itertools.pairwise(groups), itertools.pairwise(are_static), strict=True)
    pairs = [pair for pair, static in neighbors if all(static)]
    if len(groups) <= _LARGEST_RANK or not pairs:
        return [(sizes, permuted)]

    def moved_together(pair: tuple[list[int], list[int]]) -> int:
        behind = sizes[max(*pair[0], *pair[1]) + 1 :]
        return math.prod(size for size in behind if isinstance(size, int))

    group, follower = max(pairs, key=moved_together)
    rest = [dim for dim in range(len(sizes)) if dim not in follower]
    place = rest.index(group[-1]) + 1
    moved = [*rest[:place], *follower, *rest[place:]]
    remaining = _factors([sizes[dim] for dim in moved], [moved.index(dim) for dim in permuted])
    return [(sizes, moved), *remaining]


def _insert_permute(node: fx.Node, source: fx.Node, sizes: list[Any], permuted: list[int]) -> fx.Node:
    """Insert before `node` a view of `source` with merged dims and its permute, which is returned."""
    groups = _grouped_dims(sizes, permuted)
    in_memory = sorted(groups)
    merged = [sizes[dim] if not more else math.prod(sizes[d] for d in (dim, *more)) for dim, *more in in_memory]
    values = with_values(merged)
    order = [in_memory.index(group) for group in groups]
    result: torch.Tensor = node.meta["val"]
    view = insert_before(node, _VIEW, (source, merged), {}, result.new_empty(values), source)
    return insert_before(node, _PERMUTE, (view, order), {}, result.new_empty([values[at] for at in order]))


def _read_past_views(node: fx.Node) -> None:
    """Let the views of a view of `node` read `node`, if the first one has more dims than backends accept."""
    for view in list(node.users):
        if view.meta["val"].dim() > _LARGEST_RANK and all(user.target is _VIEW for user in view.users):
            _read_past_views(view)
            view.replace_all_uses_with(node)
            view.graph.erase_node(view)


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
    factors = _factors(given, dims)
    if rank <= _USUAL_RANK or is_inferred or not groups or (len(groups) == rank and len(factors) == 1):
        return False
    permuted: Any = view.args[0]
    for sizes, order in factors:
        permuted = _insert_permute(node, permuted, sizes, order)
    node.replace_all_uses_with(permuted)
    for unread in nodes:
        if not unread.users:
            unread.graph.erase_node(unread)
    _read_past_views(permuted)
    return True


class LowerPermuteRankPass(GraphPass):
    """Lowers the rank of permutes between views: drops dims of size 1, merges dims that stay together.

    Successive permutes become one.

    Windows of images, as einops writes them, are permutes of six or seven dims, one of them often of size 1:
    view [1, 8, 7, 8, 7, C] → permute [1, 8, 8, 7, 7, C] → view becomes view [8, 7, 8, 7·C] → permute [8, 8, 7, 7·C].

    A permute that keeps more than six dims apart, as shuffles of volumes do, becomes two or more.

    Helps: windows of images, as einops writes them. Backends limit the rank: 6 in XNNPACK.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            # The last permute first: its rewrite erases those before it that nothing else reads.
            for node in reversed(module.graph.find_nodes(op="call_function", target=_PERMUTE)):
                modified = _rewrite(node) or modified
        return PassResult(graph_module, modified)
