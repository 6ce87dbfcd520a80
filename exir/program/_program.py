# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented import path of the program managers and of `to_edge`."""

from torch.export import ExportedProgram

from executorch.exir.program import (
    EdgeProgramManager,
    ExecutorchProgramManager,
    to_edge,
    to_edge_transform_and_lower,
)
from executorch.exir.program.single_program import ExecutorchProgram, ExirExportedProgram, edge_to_executorch_passes
from executorch.exir.program.transform import _transform, transform_exported_program
from executorch.exir.rewrite.program_constants import lift_tensor_attributes

__all__ = [
    "_transform",
    "EdgeProgramManager",
    "ExecutorchProgram",
    "ExecutorchProgramManager",
    "ExirExportedProgram",
    "edge_to_executorch_passes",
    "lift_constant_tensor_pass",
    "to_edge",
    "to_edge_transform_and_lower",
    "transform_exported_program",
]


def lift_constant_tensor_pass(ep: ExportedProgram) -> ExportedProgram:
    """Convert tensors that the graph reads as attributes into constants of the program, in place."""
    lift_tensor_attributes(ep)
    ep.graph_module.recompile()
    return ep
