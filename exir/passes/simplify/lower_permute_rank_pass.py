# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Merge dims that unfolds, and permutes between two views, keep together, and drop dims of size 1."""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.rewrite.node_rewrite import argument, insert_before, replace_by, with_values

_VIEW, _PERMUTE = torch.ops.aten.view_copy.default, torch.ops.aten.permute_copy.default
_UNSQUEEZE, _UNFOLD = torch.ops.aten.unsqueeze_copy.default, torch.ops.aten.unfold_copy.default
_SIZE = torch.ops.aten.sym_size.int
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


def _sizes(node: fx.Node, where: fx.Node) -> list[Any]:
    """Return the sizes of `node`, dynamic ones as nodes, which are inserted before `where` if no view has them."""
    shape = node.meta["val"].shape
    if node.target is _VIEW:
        written = argument(node, "size")
        return [size if isinstance(size, int) else written[dim] for dim, size in enumerate(shape)]
    if node.target is _UNSQUEEZE:
        source: Any = node.args[0]
        sizes = _sizes(source, where)
        sizes.insert(argument(node, "dim") % len(shape), 1)
        return sizes
    return [
        size if isinstance(size, int) else insert_before(where, _SIZE, (node, dim), {}, size)
        for dim, size in enumerate(shape)
    ]


def _read_past_views(view: fx.Node) -> bool:
    """Remove the views before `view` that have more dims than backends accept."""
    source: Any = view.args[0]
    is_past = False
    while source.target in (_VIEW, _UNSQUEEZE) and source.meta["val"].dim() > _LARGEST_RANK:
        unread, source = source, source.args[0]
        view.update_arg(0, source)
        if not unread.users:
            unread.graph.erase_node(unread)
        is_past = True
    return is_past


def _rewrite_unfold(node: fx.Node) -> bool:
    """Merge the dims before the unfolded one, and those after it."""
    result: torch.Tensor = node.meta["val"]
    source: Any = node.args[0]
    dim = argument(node, "dimension") % (result.dim() - 1)
    shape = source.meta["val"].shape
    static = [size for size in shape if isinstance(size, int)]
    if result.dim() <= _LARGEST_RANK or 0 in static or not all(isinstance(size, int) for size in shape[dim:]):
        return False
    sizes = _sizes(source, node)
    before, after = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
    merged = [before if isinstance(before, int) else -1, shape[dim], after]
    view = insert_before(node, _VIEW, (source, merged), {}, result.new_empty([before, *merged[1:]]), source)
    windows, width = result.shape[dim], argument(node, "size")
    values = result.new_empty([before, windows, after, width])
    unfold = insert_before(node, _UNFOLD, (view, 1, width, argument(node, "step")), {}, values)
    replace_by(
        node, insert_before(node, _VIEW, (unfold, [*sizes[:dim], windows, *sizes[dim + 1 :], width]), {}, result)
    )
    return True


def _rewrite(node: fx.Node) -> bool:
    if not node.users or not all(user.target is _VIEW for user in node.users):
        return False
    nodes, dims = _chain(node)
    view = nodes[-1]
    if view.target not in (_VIEW, _UNSQUEEZE):
        return False
    shape = view.meta["val"].shape
    rank = len(shape)
    groups = _grouped_dims(shape, dims)
    if rank <= _USUAL_RANK or not groups or (len(groups) == rank and len(_factors(shape, dims)) == 1):
        return False
    given = _sizes(view, node)
    if any(isinstance(size, int) and size < 0 for size in given):
        return False
    permuted: Any = view.args[0]
    for sizes, order in _factors(given, dims):
        permuted = _insert_permute(node, permuted, sizes, order)
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

    A permute that keeps more than six dims apart, as shuffles of volumes do, becomes two or more.

    An unfold to more than six dims, as for windows of videos, unfolds the second of three dims instead.

    Helps: windows of images, as einops writes them. Backends limit the rank: 6 in XNNPACK.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for node in module.graph.find_nodes(op="call_function", target=_UNFOLD):
                modified = _rewrite_unfold(node) or modified
            # The last permute first: its rewrite erases those before it that nothing else reads.
            for node in reversed(module.graph.find_nodes(op="call_function", target=_PERMUTE)):
                modified = _rewrite(node) or modified
            for node in module.graph.find_nodes(op="call_function", target=_VIEW):
                modified = _read_past_views(node) or modified
        return PassResult(graph_module, modified)
