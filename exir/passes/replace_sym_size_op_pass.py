# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented name of `ReplaceSymOpsPass`; nothing inside the project imports it."""

from executorch.exir.passes.replace_sym_ops_pass import ReplaceSymOpsPass as ReplaceSymSizeOpPass

__all__ = ["ReplaceSymSizeOpPass"]
