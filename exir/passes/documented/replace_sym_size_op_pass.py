# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade of `exir.passes.edge.replace_sym_ops_pass`."""

from executorch.exir.passes.edge.replace_sym_ops_pass import ReplaceSymOpsPass as ReplaceSymSizeOpPass

__all__ = ["ReplaceSymSizeOpPass"]
