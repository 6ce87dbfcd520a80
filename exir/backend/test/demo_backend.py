# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""DemoBackend: a backend that takes anything and fuses it all; its payload is a fixed marker that no runtime
executes."""

from __future__ import annotations

from typing import final

from torch.export import ExportedProgram

from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.delegate.delegate_mapping import debug_handles
from executorch.exir.schema import CompileSpec


@final
class DemoBackend(BackendDetails):
    """Shows a debug handle map of many to one: all nodes are one operation of the delegate, number 1."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        handles = debug_handles(edge_program.graph)
        return PreprocessResult(
            processed_bytes=b"imqnncompiled",
            debug_handle_map={1: tuple(handles)},
        )
