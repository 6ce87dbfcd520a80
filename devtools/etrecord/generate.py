# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Create and save, or read, an ETRecord in one call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO

from torch.export import ExportedProgram

from executorch.devtools.bundled_program.core import BundledProgram
from executorch.devtools.etrecord.file import read_record
from executorch.devtools.etrecord.record import ETRecord, Programs
from executorch.exir.program import EdgeProgramManager, ExecutorchProgramManager


def generate_etrecord(
    et_record: str | os.PathLike[str] | IO[bytes],
    edge_dialect_program: EdgeProgramManager | ExportedProgram,
    executorch_program: ExecutorchProgramManager | BundledProgram,
    exported_program: Programs | None = None,
    extra_recorded_export_modules: Mapping[str, ExportedProgram | EdgeProgramManager] | None = None,
) -> None:
    """Save a record of the programs to `et_record`.

    Args:
        et_record: a path, or a file opened for writing bytes.
        edge_dialect_program: a copy of the result of `to_edge` or `to_edge_transform_and_lower`.
        executorch_program: the result of `to_executorch`, or a bundled program, whose test cases are recorded too.
        exported_program: the result of `torch.export.export`.
        extra_recorded_export_modules: further programs by user-chosen names.
    """
    record = ETRecord()
    record.add_exported_program(exported_program)
    record.add_edge_dialect_program(edge_dialect_program)
    record.add_executorch_program(executorch_program)
    if extra_recorded_export_modules is not None:
        record.add_extra_export_modules(extra_recorded_export_modules)
    record.save(et_record)


def parse_etrecord(etrecord_path: str | os.PathLike[str] | IO[bytes]) -> ETRecord:
    """Read a record. Raises RuntimeError that says why the file is not a valid record."""
    return read_record(etrecord_path)
