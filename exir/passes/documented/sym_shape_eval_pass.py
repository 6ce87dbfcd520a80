# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade of `exir.passes.memory.sym_shape_eval_pass` and of `exir.sym_util.eval_upper_bound`."""

from executorch.exir.passes.memory.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass, HintBasedSymShapeEvalPass
from executorch.exir.sym_util import eval_upper_bound

__all__ = ["ConstraintBasedSymShapeEvalPass", "HintBasedSymShapeEvalPass", "eval_upper_bound"]
