# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade of `exir.dialects.executorch_prim_ops`, with the names that `transformers.exporters` imports."""

from executorch.exir.dialects.executorch_prim_ops import PRIM_OF_PYTHON_FUNCTION

_PYTHON_SYM_OPS_TO_EXECUTORCH_SYM_OPS = PRIM_OF_PYTHON_FUNCTION
_EXECUTORCH_SYM_OPS = frozenset(PRIM_OF_PYTHON_FUNCTION.values())
