# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The precision in which a backend computes a delegated operator.

A partitioner records it where it is not the dtype of the result, in `node.meta["compute_precision"]`.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.fx import Node

__all__ = ["COMPUTE_PRECISION", "note_compute_precision", "precision_of"]

COMPUTE_PRECISION = "compute_precision"
_NAMES = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16", torch.float64: "fp64"}


def note_compute_precision(nodes: Iterable[Node], precision: str) -> None:
    """Record the precision, such as "bf16" or "int8", of operators."""
    for node in nodes:
        node.meta[COMPUTE_PRECISION] = precision


def precision_of(node: Node) -> str:
    """Return the recorded precision, else the dtype of the first result; empty for a result that is not a tensor."""
    if COMPUTE_PRECISION in node.meta:
        return str(node.meta[COMPUTE_PRECISION])
    value = node.meta.get("val")
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    if not isinstance(first, torch.Tensor):
        return ""
    return _NAMES.get(first.dtype, str(first.dtype).removeprefix("torch."))
