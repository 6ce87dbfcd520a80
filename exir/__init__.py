# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The ahead-of-time compiler: torch.export's ExportedProgram in, a `.pte` program out."""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ImportError(
        'executorch.exir needs PyTorch, which the base package does not bring: pip install "executorch[export]"'
    ) from error


from torch.export import ExportedProgram, ExportGraphSignature

from executorch.exir.capture import EdgeCompileConfig, ExecutorchBackendConfig
from executorch.exir.emit import EmitterOutput, emit_program
from executorch.exir.program import (
    EdgeProgramManager,
    ExecutorchProgramManager,
    to_edge,
    to_edge_transform_and_lower,
)
from executorch.exir.program.single_program import ExecutorchProgram, ExirExportedProgram, edge_to_executorch_passes
from executorch.exir.serde.serialize import load, save
from executorch.exir.tracer import Value

__all__ = [
    "EdgeCompileConfig",
    "EdgeProgramManager",
    "EmitterOutput",
    "ExecutorchBackendConfig",
    "ExecutorchProgram",
    "ExecutorchProgramManager",
    "ExirExportedProgram",
    "ExportGraphSignature",
    "ExportedProgram",
    "Value",
    "edge_to_executorch_passes",
    "emit_program",
    "load",
    "save",
    "to_edge",
    "to_edge_transform_and_lower",
]
