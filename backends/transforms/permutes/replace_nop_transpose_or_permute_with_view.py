# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace permutes that move no element by views."""

from __future__ import annotations

from typing import Any

from torch.fx import Node

from executorch.backends.transforms.permutes.permute_pass_utils import (
    RemoveOrReplacePassInterface,
    insert_view,
    permutation_of,
)
from executorch.exir.dialects._ops import ops
from executorch.exir.dialects.edge._ops import EdgeOpOverload

_aten: Any = ops.edge.aten


class ReplaceNopTransposeOrPermuteWithViewPass(RemoveOrReplacePassInterface):
    """Replaces transposes and permutes that keep the order of all dimensions larger than 1 (`[n, 1, h]` to
    `[n, h, 1]`) by views, and removes those that keep the order of all dimensions.
    """

    @property
    def targets(self) -> list[EdgeOpOverload]:
        return [_aten.transpose_copy.int, _aten.permute_copy.default]

    def maybe_remove_or_replace(self, node: Node) -> bool:
        source: Any = node.args[0]
        dims = permutation_of(node)
        assert dims is not None
        sizes = source.meta["val"].shape
        moved = [dim for dim in dims if sizes[dim] != 1]
        if moved != sorted(moved):
            return False
        node.replace_all_uses_with(source if dims == sorted(dims) else insert_view(node, source))
        return True
