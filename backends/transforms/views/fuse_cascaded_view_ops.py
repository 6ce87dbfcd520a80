# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fuse a view of a view into one view."""

from __future__ import annotations

from typing import Any

from torch.fx import Node

from executorch.backends.transforms.permutes.permute_pass_utils import RemoveOrReplacePassInterface
from executorch.exir.dialects._ops import ops
from executorch.exir.dialects.edge._ops import EdgeOpOverload

_view: Any = ops.edge.aten.view_copy.default


class FuseCascadedViewOps(RemoveOrReplacePassInterface):
    """Makes every `view_copy` of a `view_copy` read the operand of the first."""

    @property
    def targets(self) -> list[EdgeOpOverload]:
        return [_view]

    def maybe_remove_or_replace(self, node: Node) -> bool:
        parent: Any = node.args[0]
        if not isinstance(parent, Node) or parent.op != "call_function" or parent.target is not _view:
            return False
        node.replace_input_with(parent, parent.args[0])  # type: ignore[arg-type]
        return True
