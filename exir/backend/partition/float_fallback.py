# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Float fallbacks: nodes of a quantized partition that a backend computes in float, with the reason.

A partitioner records the reason in `node.meta["float_fallback"]`.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch.fx import Node

__all__ = ["FLOAT_FALLBACK", "note_float_fallback"]

FLOAT_FALLBACK = "float_fallback"


def note_float_fallback(reasons: Mapping[Node, str]) -> None:
    """Record why each node of a quantized partition is computed in float."""
    for node, reason in reasons.items():
        node.meta[FLOAT_FALLBACK] = reason
