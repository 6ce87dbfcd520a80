# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The documented import path of the program managers."""

from executorch.exir.program import (
    EdgeProgramManager,
    ExecutorchProgramManager,
    to_edge,
    to_edge_transform_and_lower,
)

__all__ = ["EdgeProgramManager", "ExecutorchProgramManager", "to_edge", "to_edge_transform_and_lower"]
