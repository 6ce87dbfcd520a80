# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A predicate for values with dynamic shapes, for backends that support none."""

from __future__ import annotations

from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import has_free_symbols

__all__ = ["is_shape_dynamic"]


def is_shape_dynamic(node: Node) -> bool:
    """Return whether a size of the node's tensor is symbolic."""
    return bool(has_free_symbols(node.meta["val"].shape))
