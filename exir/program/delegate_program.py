# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Lower the program that calls a single delegate, for `LoweredBackendModule.buffer`."""

from __future__ import annotations

from torch.export import ExportedProgram

from executorch.exir.capture import ExecutorchBackendConfig
from executorch.exir.lowered_backend_module import DelegateSettings, register_delegate_lowering
from executorch.exir.program.edge_manager import EdgeProgramManager
from executorch.exir.program.executorch_manager import ExecutorchProgramManager


def lower_delegate_program(program: ExportedProgram, settings: DelegateSettings) -> ExecutorchProgramManager:
    """Return the lowered program. The target is not checked: the program calls no kernel, and that check may run it."""
    return EdgeProgramManager({"forward": program}).to_executorch(
        ExecutorchBackendConfig(**settings, check_target=False)
    )


register_delegate_lowering(lower_delegate_program)
