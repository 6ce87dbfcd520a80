# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What a backend computes on numbers between integers: noted by a partitioner, kept on the nodes of its delegates.

`node.meta["in_float"]` is the reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch.fx import Node

__all__ = ["IN_FLOAT", "note_in_float"]

IN_FLOAT = "in_float"


def note_in_float(reasons: Mapping[Node, str]) -> None:
    """For operators of a partition that has integers in it."""
    for node, reason in reasons.items():
        node.meta[IN_FLOAT] = reason
