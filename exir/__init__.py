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

from typing import Any

from torch.export import ExportedProgram, ExportGraphSignature

from executorch.exir.capture import EdgeCompileConfig, ExecutorchBackendConfig
from executorch.exir.emit import EmitterOutput, emit_program
from executorch.exir.program import (
    EdgeProgramManager,
    ExecutorchProgramManager,
    to_edge,
    to_edge_transform_and_lower,
)

Value = Any

__all__ = [
    "EdgeCompileConfig",
    "EdgeProgramManager",
    "EmitterOutput",
    "ExecutorchBackendConfig",
    "ExecutorchProgramManager",
    "ExportGraphSignature",
    "ExportedProgram",
    "Value",
    "emit_program",
    "to_edge",
    "to_edge_transform_and_lower",
]
