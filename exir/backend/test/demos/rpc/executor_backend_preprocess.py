# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""ExecutorBackend: a backend whose payload is a complete program, to be run by another runtime (on another machine,
say)."""

from __future__ import annotations

from typing import final

from torch.export import ExportedProgram

from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.schema import CompileSpec


@final
class ExecutorBackend(BackendDetails):
    """The payload is a `.pte` with the partition as its method `forward`.

    With the compile spec "any_target", the other runtime may have kernels that this package does not know.
    """

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        from executorch.exir.capture import ExecutorchBackendConfig
        from executorch.exir.program import EdgeProgramManager

        config = ExecutorchBackendConfig(check_target=all(spec.key != "any_target" for spec in compile_specs))
        program = EdgeProgramManager({"forward": edge_program}).to_executorch(config)
        return PreprocessResult(processed_bytes=bytes(program.buffer), debug_handle_map={})
