# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Move a permute after the view that reads it, so that adjacent views and adjacent permutes can be fused."""

from __future__ import annotations

from typing import Any

from torch import fx
from torch.fx import Node
from torch.fx.passes.infra.pass_base import PassResult

from executorch.backends.transforms.permutes.permute_pass_utils import (
    VIEWS,
    RemoveOrReplacePassInterface,
    extra_unit_dim,
    permutation_of,
)
from executorch.exir.dialects._ops import ops
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.rewrite.node_rewrite import origin_of

_permute: Any = ops.edge.aten.permute_copy.default
# Each round moves a chain of permutes past one view.
_MAX_ROUNDS = 4


class PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView(RemoveOrReplacePassInterface):
    """Rewrites permute → view to view → permute, if the view adds or removes one size of 1 or keeps the sizes."""

    @property
    def targets(self) -> list[EdgeOpOverload]:
        return [_permute]

    def maybe_remove_or_replace(self, node: Node) -> bool:
        users = list(node.users)
        source: Any = node.args[0]
        if len(users) != 1 or users[0].target not in VIEWS:
            return False
        view = users[0]
        if any(member.meta.get("val") is None for member in (source, node, view)):
            return False
        sizes, permuted, viewed = (list(member.meta["val"].shape) for member in (source, node, view))
        if permuted == viewed:
            view.replace_all_uses_with(node)
            return True
        dims = permutation_of(node)
        assert dims is not None
        added, removed = extra_unit_dim(viewed, permuted), extra_unit_dim(permuted, viewed)
        if added is not None:
            sizes.insert(added, 1)
            dims = [dim + (dim >= added) for dim in dims]
            dims.insert(added, added)
        elif removed is not None:
            removed_dim = dims.pop(removed)
            del sizes[removed_dim]
            dims = [dim - (dim > removed_dim) for dim in dims]
        else:
            return False
        _exchange(source, node, view, sizes, dims)
        return True

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for _ in range(_MAX_ROUNDS):
            result = super().call(graph_module)
            assert result is not None
            if not result.modified:
                break
            graph_module, modified = result.graph_module, True
        return PassResult(graph_module, modified)


def _exchange(source: Node, permute: Node, view: Node, sizes: list[Any], dims: list[int]) -> None:
    graph = permute.graph
    with graph.inserting_after(view):
        first = graph.call_function(view.target, (source, sizes))  # type: ignore[arg-type]
    with graph.inserting_after(first):
        second = graph.call_function(_permute, (first, dims))
    first.meta = origin_of(view)
    second.meta = dict(view.meta)
    view.replace_all_uses_with(second)
    graph.erase_node(view)
    graph.erase_node(permute)
