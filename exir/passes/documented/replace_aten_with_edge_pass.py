# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade of `exir.passes.edge.aten_to_edge_pass`."""

from executorch.exir.dialects._ops import edge_op as aten_to_edge
from executorch.exir.passes.edge.aten_to_edge_pass import AtenToEdgePass as OpReplacePass

__all__ = ["OpReplacePass", "aten_to_edge"]
