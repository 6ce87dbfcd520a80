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

from torch.export import ExportedProgram

from executorch.exir.capture import EdgeCompileConfig, ExecutorchBackendConfig
from executorch.exir.program import (
    EdgeProgramManager,
    ExecutorchProgramManager,
    to_edge,
    to_edge_transform_and_lower,
)

__all__ = [
    "EdgeCompileConfig",
    "EdgeProgramManager",
    "ExecutorchBackendConfig",
    "ExecutorchProgramManager",
    "ExportedProgram",
    "to_edge",
    "to_edge_transform_and_lower",
]
