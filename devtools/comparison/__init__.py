# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Compare a model with a program lowered from it, also inside delegates."""

from executorch.devtools.comparison.by_operator import Lower, compare
from executorch.devtools.comparison.result import UNNAMED, Comparison, OperatorGap, Step

__all__ = ["UNNAMED", "Comparison", "Lower", "OperatorGap", "Step", "compare"]
