# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The record of an export for the developer tools. Its class is a plugin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

from torch.export import ExportedProgram

from executorch.exir.plugins import load_plugin

__all__ = ["ExportRecord", "new_record"]


class ExportRecord(Protocol):
    """The part of `executorch.devtools.ETRecord` that the program managers use."""

    graph_map: dict[str, ExportedProgram] | None

    def add_exported_program(self, exported_program: ExportedProgram | dict[str, ExportedProgram]) -> None: ...

    def add_edge_dialect_program(self, edge_dialect_program: object) -> None: ...

    def add_executorch_program(self, executorch_program: object) -> None: ...

    def edge_programs(self) -> Mapping[str, ExportedProgram]: ...

    def copy(self) -> ExportRecord: ...


def new_record() -> ExportRecord:
    """Return an empty `executorch.devtools.ETRecord`."""
    return cast(ExportRecord, load_plugin("export_record", "etrecord")())
