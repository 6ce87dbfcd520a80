# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade of `exir.passes.edge.aten_to_edge_pass`."""

from torch._ops import OpOverload

from executorch.exir.dialects._ops import edge_op
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.passes.edge.aten_to_edge_pass import SIZE_OPERATORS
from executorch.exir.passes.edge.aten_to_edge_pass import AtenToEdgePass as OpReplacePass

__all__ = ["OpReplacePass", "aten_to_edge", "should_lower_to_edge"]


def aten_to_edge(aten_op: OpOverload) -> EdgeOpOverload:
    """Return the edge overload that wraps `aten_op`."""
    return edge_op(aten_op)


def should_lower_to_edge(op: object) -> bool:
    """Return whether `OpReplacePass` replaces calls of `op`."""
    return isinstance(op, OpOverload) and op not in SIZE_OPERATORS
