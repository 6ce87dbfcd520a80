# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fuse chains of transposes and permutes into one permute, or remove them if they cancel."""

from __future__ import annotations

from typing import Any

from torch.fx import Node

from executorch.backends.transforms.permutes.permute_pass_utils import (
    VIEWS,
    RemoveOrReplacePassInterface,
    extra_unit_dim,
    insert_view,
    permutation_of,
)
from executorch.exir.dialects._ops import ops
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.rewrite.node_rewrite import insert_before

_aten: Any = ops.edge.aten


class FuseCascadedTransposeOrPermuteOps(RemoveOrReplacePassInterface):
    """Fuses a transpose or permute with one that it reads, also through a view that adds or removes a size of 1."""

    transpose_or_permute_target = frozenset({_aten.transpose_copy.int, _aten.permute_copy.default})

    @property
    def targets(self) -> list[EdgeOpOverload]:
        return [_aten.transpose_copy.int, _aten.permute_copy.default]

    def maybe_remove_or_replace(self, node: Node) -> bool:
        parent: Any = node.args[0]
        if parent.target in self.transpose_or_permute_target:
            return _fuse(node, parent)
        if parent.target in VIEWS and len(parent.users) == 1:
            return _fuse_through_view(node, parent)
        return False


def _fuse(node: Node, parent: Node) -> bool:
    outer, inner = permutation_of(node), permutation_of(parent)
    assert outer is not None and inner is not None
    source: Any = parent.args[0]
    dims = [inner[dim] for dim in outer]
    if dims == sorted(dims):
        node.replace_all_uses_with(source)
    else:
        permute = insert_before(node, _aten.permute_copy.default, (source, dims), {}, node.meta["val"])
        node.replace_all_uses_with(permute)
    return True


def _fuse_through_view(node: Node, view: Node) -> bool:
    """Replace permute → view → permute by a view, if the permutes restore the order of the source's dimensions."""
    parent: Any = view.args[0]
    outer, inner = permutation_of(node), permutation_of(parent)
    if outer is None or inner is None:
        return False
    before, after = parent.meta["val"].shape, view.meta["val"].shape
    added, removed = extra_unit_dim(after, before), extra_unit_dim(before, after)
    dims: list[int | None] = list(inner)
    if added is not None:
        dims.insert(added, None)
    elif removed is not None:
        del dims[removed]
    else:
        return False
    kept = [dim for dim in (dims[position] for position in outer) if dim is not None]
    if kept != sorted(kept):
        return False
    source: Any = parent.args[0]
    equal = list(source.meta["val"].shape) == list(node.meta["val"].shape)
    node.replace_all_uses_with(source if equal else insert_view(node, source))
    return True
