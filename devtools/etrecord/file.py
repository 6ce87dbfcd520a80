# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""File of an ETRecord: a zip archive with the entries below, as in ExecuTorch 1.4."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from struct import error as StructError
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

import torch
from torch._export.serde.serialize import SerializeError
from torch.export import ExportedProgram

from executorch.devtools.etrecord.record import RESERVED, ETRecord
from executorch.exir.serde.program_bytes import (
    ProgramBytes,
    check_unpacked_size,
    program_from_bytes,
    program_to_bytes,
    tensors_of,
)

_IDENTIFIER = "ETRECORD_V0"
_EXPORTED = "exported_program"
_EDGE = "edge_dialect_exported_program"
_PARTS = ("_state_dict", "_constants", "_example_inputs")
# Archive entry → attribute of ETRecord.
_JSON = {
    "debug_handle_map": "_debug_handle_map",
    "delegate_map": "_delegate_map",
    "instruction_id_to_num_outs_map": "_instruction_id_to_num_outs_map",
    "export_graph_id": "export_graph_id",
}
_TENSORS = {"reference_outputs": "_reference_outputs", "representative_inputs": "_representative_inputs"}


def write_record(record: ETRecord, path: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write the record. Raises RuntimeError if it lacks the edge or the ExecuTorch program, or contains a program that
    cannot be serialized.
    """
    if record.edge_dialect_program is None or record._debug_handle_map is None:
        lacking = "edge" if record.edge_dialect_program is None else "ExecuTorch"
        raise RuntimeError(f"the record lacks the {lacking} program: add it before saving")
    programs = {f"{_EDGE}/{name}": program for name, program in record.edge_programs().items()}
    if record.exported_program is not None:
        programs[_EXPORTED] = record.exported_program
    programs |= {name if "/" in name else f"{name}/forward": graph for name, graph in (record.graph_map or {}).items()}
    contents = _program_entries(programs)
    for entry, attribute in _JSON.items():
        if getattr(record, attribute) is not None:
            contents[entry] = json.dumps(getattr(record, attribute)).encode()
    for entry, attribute in _TENSORS.items():
        if getattr(record, attribute) is not None:
            buffer = io.BytesIO()
            torch.save(getattr(record, attribute), buffer)
            contents[entry] = buffer.getvalue()
    with ZipFile(path, "w") as archive:  # after all serialization, so that a failure leaves no partial file
        archive.writestr(_IDENTIFIER, "")
        for entry, content in contents.items():
            archive.writestr(entry, content)


def _program_entries(programs: Mapping[str, ExportedProgram]) -> dict[str, bytes]:
    entries = {}
    for name, program in programs.items():
        try:
            data = program_to_bytes(program)
        except SerializeError as error:
            reason = str(error).strip().split("\n")[-1]
            raise RuntimeError(f"the record's program '{name}' cannot be serialized: {reason}") from error
        entries[name] = data.exported_program
        contents = (data.state_dict, data.constants, data.example_inputs)
        entries |= {name + part: content for part, content in zip(_PARTS, contents, strict=True)}
    return entries


def read_record(path: str | os.PathLike[str] | IO[bytes]) -> ETRecord:
    """Read a record. Raises OSError, and RuntimeError that says why the file is not a valid record."""
    if isinstance(path, (str, os.PathLike)) and Path(path).exists() and not Path(path).is_file():
        raise RuntimeError(f"{path} is not a regular file")
    try:
        archive = ZipFile(path)
    except (BadZipFile, NotImplementedError, ValueError, StructError) as error:
        raise RuntimeError(f"{path} is not an ETRecord: {error}") from error
    with archive:
        if _IDENTIFIER not in archive.namelist():
            raise RuntimeError(f"{path} is not an ETRecord: entry '{_IDENTIFIER}' is missing")
        try:
            check_unpacked_size(archive, _size_of(archive))
        except ValueError as error:
            raise RuntimeError(f"{path} cannot be read: {error}") from error
        return _read(archive)


def _size_of(archive: ZipFile) -> int:
    """Return the bytes of the archive."""
    assert archive.fp is not None, "the archive is open"
    return archive.fp.seek(0, os.SEEK_END)


def _read(archive: ZipFile) -> ETRecord:
    entries = set(archive.namelist())
    record = ETRecord(graph_map={}, export_graph_id=0)
    for entry, attribute in _JSON.items():
        if entry in entries:
            setattr(record, attribute, _checked(entry, _read_with(json.loads, archive, entry)))
    for entry, attribute in _TENSORS.items():
        if entry in entries:
            setattr(record, attribute, _checked(entry, _read_with(tensors_of, archive, entry)))
    names = sorted(entry for entry in entries if entry + _PARTS[0] in entries)
    edge = {name.removeprefix(_EDGE + "/"): name for name in names if name.startswith(_EDGE + "/")}
    if _EDGE in names:  # format of an earlier ExecuTorch, which recorded one method
        edge["forward"] = _EDGE
    if _EXPORTED in names:
        record.exported_program = _program(archive, _EXPORTED)
    programs = {method: _program(archive, name) for method, name in edge.items()}
    if programs:
        record.edge_dialect_program = next(iter(programs.values())) if len(programs) == 1 else programs
    others = [name for name in names if name.split("/")[0] not in RESERVED]
    record.graph_map = {name: _program(archive, name) for name in others}
    return record


def _bytes(archive: ZipFile, entry: str) -> bytes:
    try:
        return archive.read(entry)
    except Exception as error:  # each compression of zip archives raises exceptions of its own
        raise RuntimeError(f"the record's entry '{entry}' cannot be read: {error}") from error


def _read_with(read: Callable[[bytes], Any], archive: ZipFile, entry: str) -> Any:
    data = _bytes(archive, entry)
    try:
        return read(data)
    except Exception as error:  # torch, pickle and json raise many exception types for wrong bytes
        raise RuntimeError(f"the record's entry '{entry}' cannot be read: {type(error).__name__}: {error}") from error


def _program(archive: ZipFile, name: str) -> ExportedProgram:
    parts = [_bytes(archive, name + part) for part in _PARTS]
    program: ExportedProgram = _read_with(lambda data: program_from_bytes(ProgramBytes(data, *parts)), archive, name)
    return program


def _checked(entry: str, value: Any) -> Any:
    """Check the type of an entry's value. Raises RuntimeError that names entry and value."""
    if entry == "export_graph_id":
        fits = isinstance(value, int)
    elif entry == "representative_inputs":
        fits = isinstance(value, (list, tuple))
    else:
        fits = isinstance(value, dict) and all(map(_CHECKS[entry], value.values()))
    if not fits:
        raise RuntimeError(f"the record's entry '{entry}': expected {_EXPECTED[entry]}; found {str(value)[:80]}")
    return value


def _by_instruction(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a predicate of values that map instructions to values that `check` accepts. Keys are strings in a file."""

    def fits(candidate: Any) -> bool:
        return isinstance(candidate, dict) and all(
            _is_instruction(key) and check(value) for key, value in candidate.items()
        )

    return fits


def _is_instruction(key: Any) -> bool:
    # isdigit() is true for superscripts too, and int() refuses those and very long texts.
    return str(key).isdecimal() and len(str(key)) < 20


def _is_handles(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, list) and all(isinstance(handle, int) for handle in value))


def _is_delegate(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("name", ""), str):
        return False
    maps = value.get("delegate_map") or {}
    return isinstance(maps, dict) and all(map(_is_handles, maps.values()))


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "debug_handle_map": _by_instruction(_is_handles),
    "delegate_map": _by_instruction(_is_delegate),
    "instruction_id_to_num_outs_map": _by_instruction(lambda found: isinstance(found, int)),
    "reference_outputs": lambda found: isinstance(found, list),
}
_EXPECTED = {
    "export_graph_id": "a number",
    "representative_inputs": "a list of inputs",
    "reference_outputs": "method → a list of outputs for each test case",
    "debug_handle_map": "method → instruction → debug handle(s)",
    "delegate_map": "method → instruction → name and map of the delegate",
    "instruction_id_to_num_outs_map": "method → delegate's call → number of outputs",
}
