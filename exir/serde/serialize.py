# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented functions that save and load programs of the ATen and Edge dialects."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO
from zipfile import ZipFile

from torch.export import ExportedProgram

from executorch.exir.serde.program_bytes import (
    VERSION,
    ProgramBytes,
    check_unpacked_size,
    program_from_bytes,
    program_to_bytes,
)

# The parts of a program and the archive's entries that hold them.
_ENTRIES = {
    "exported_program": "serialized_exported_program.json",
    "state_dict": "serialized_state_dict.pt",
    "constants": "serialized_constants.pt",
    "example_inputs": "serialized_example_inputs.pt",
}
_EXTRA = "extra_files/"


def serialize(exported_program: ExportedProgram, opset_version: Mapping[str, int] | None = None) -> ProgramBytes:
    """Return a program of the ATen or edge dialect as bytes.

    Args:
        exported_program: The program. A planned one raises torch's SerializeError.
        opset_version: Version of each operator namespace. torch supports only `aten`, in one version.

    Raises:
        ValueError: `opset_version` names another namespace than `aten`.
    """
    other = sorted(set(opset_version or ()) - {"aten"})
    if other:
        raise ValueError(f"opset_version: expected only the namespace 'aten', found {other}")
    return program_to_bytes(exported_program)


def deserialize(artifact: ProgramBytes) -> ExportedProgram:
    """Return the program that `serialize` wrote. Raises ValueError for invalid bytes."""
    return program_from_bytes(artifact)


def save(
    ep_save: ExportedProgram,
    f: str | os.PathLike[str] | BinaryIO,
    *,
    extra_files: Mapping[str, str] | None = None,
    opset_version: Mapping[str, int] | None = None,
) -> None:
    """Write a program, and texts by file name, to an archive.

    Raises:
        TypeError: `ep_save` is not an ExportedProgram.
    """
    if not isinstance(ep_save, ExportedProgram):
        raise TypeError(f"save: expected an ExportedProgram, found {type(ep_save).__name__}")
    parts = serialize(ep_save, opset_version)
    with ZipFile(f, "w") as archive:
        for part, entry in _ENTRIES.items():
            archive.writestr(entry, getattr(parts, part))
        archive.writestr("version", f"{VERSION['major']}.{VERSION['minor']}")
        for name, text in (extra_files or {}).items():
            archive.writestr(_EXTRA + name, text.encode())


def load(f: str | os.PathLike[str] | BinaryIO, *, extra_files: dict[str, str] | None = None) -> ExportedProgram:
    """Return the program of an archive that `save` wrote.

    Args:
        f: The archive.
        extra_files: Its keys name extra files; their texts become its values.

    Raises:
        ValueError: The archive has another version, lacks an entry, or unpacks to far more than it has bytes, or the
            file is not a regular file.
    """
    if isinstance(f, (str, os.PathLike)) and Path(f).exists() and not Path(f).is_file():
        raise ValueError(f"saved program: expected a regular file, found {os.fspath(f)}")
    with ZipFile(f) as archive:
        assert archive.fp is not None, "the archive is open"
        check_unpacked_size(archive, archive.fp.seek(0, os.SEEK_END))
        entries = set(archive.namelist())
        wanted = {"version", *_ENTRIES.values(), *(_EXTRA + name for name in extra_files or {})}
        if wanted - entries:
            raise ValueError(f"saved program: no entries {sorted(wanted - entries)}, found {sorted(entries)}")
        version = archive.read("version").decode()
        if version.partition(".")[0] != str(VERSION["major"]):
            raise ValueError(f"saved program: expected version {VERSION['major']}, found {version}")
        for name in extra_files or {}:
            assert extra_files is not None
            extra_files[name] = archive.read(_EXTRA + name).decode()
        return deserialize(ProgramBytes(**{part: archive.read(entry) for part, entry in _ENTRIES.items()}))
