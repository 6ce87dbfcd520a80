# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented import path of the program managers and of `to_edge`."""

from executorch.exir.program import (
    EdgeProgramManager,
    ExecutorchProgramManager,
    to_edge,
    to_edge_transform_and_lower,
)
from executorch.exir.program.single_program import ExecutorchProgram, ExirExportedProgram, edge_to_executorch_passes
from executorch.exir.program.transform import _transform, transform_exported_program

__all__ = [
    "_transform",
    "EdgeProgramManager",
    "ExecutorchProgram",
    "ExecutorchProgramManager",
    "ExirExportedProgram",
    "edge_to_executorch_passes",
    "to_edge",
    "to_edge_transform_and_lower",
    "transform_exported_program",
]
