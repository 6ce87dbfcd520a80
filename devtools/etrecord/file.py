# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The file of an ETRecord: a zip archive with the names below, as ExecuTorch 1.4 writes and reads it."""

from __future__ import annotations

import io
import json
import os
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

import torch
from torch.export import ExportedProgram

from executorch.devtools.etrecord.program_bytes import ProgramBytes, program_from_bytes, program_to_bytes
from executorch.devtools.etrecord.record import RESERVED, ETRecord

_IDENTIFIER = "ETRECORD_V0"
_EXPORTED = "exported_program"
_EDGE = "edge_dialect_exported_program"
_PARTS = ("_state_dict", "_constants", "_example_inputs")
# Entry → attribute.
_JSON = {
    "debug_handle_map": "_debug_handle_map",
    "delegate_map": "_delegate_map",
    "instruction_id_to_num_outs_map": "_instruction_id_to_num_outs_map",
    "export_graph_id": "export_graph_id",
}
_TENSORS = {"reference_outputs": "_reference_outputs", "representative_inputs": "_representative_inputs"}


def write_record(record: ETRecord, path: str | os.PathLike[str] | IO[bytes]) -> None:
    """Writes the record. Raises RuntimeError if it lacks the edge program or the ExecuTorch program."""
    if record.edge_dialect_program is None or record._debug_handle_map is None:
        lacking = "edge" if record.edge_dialect_program is None else "ExecuTorch"
        raise RuntimeError(f"the record has no {lacking} program: add it before saving")
    programs = {f"{_EDGE}/{name}": program for name, program in record.edge_programs().items()}
    if record.exported_program is not None:
        programs[_EXPORTED] = record.exported_program
    programs |= {name if "/" in name else f"{name}/forward": each for name, each in (record.graph_map or {}).items()}
    with ZipFile(path, "w") as archive:
        archive.writestr(_IDENTIFIER, "")
        for name, program in programs.items():
            data = program_to_bytes(program)
            archive.writestr(name, data.exported_program)
            for part, content in zip(_PARTS, (data.state_dict, data.constants, data.example_inputs), strict=True):
                archive.writestr(name + part, content)
        for entry, attribute in _JSON.items():
            if getattr(record, attribute) is not None:
                archive.writestr(entry, json.dumps(getattr(record, attribute)))
        for entry, attribute in _TENSORS.items():
            if getattr(record, attribute) is not None:
                buffer = io.BytesIO()
                torch.save(getattr(record, attribute), buffer)
                archive.writestr(entry, buffer.getvalue())


def read_record(path: str | os.PathLike[str] | IO[bytes]) -> ETRecord:
    """The record in the file. Raises RuntimeError, saying what is wrong, if it is none."""
    try:
        with ZipFile(path) as archive:
            return _read(archive, path)
    except BadZipFile as error:
        raise RuntimeError(f"{path} is no ETRecord: {error}") from error


def _read(archive: ZipFile, path: Any) -> ETRecord:
    entries = set(archive.namelist())
    if _IDENTIFIER not in entries:
        raise RuntimeError(f"{path} is no ETRecord: it has no entry '{_IDENTIFIER}'")
    record = ETRecord(graph_map={}, export_graph_id=0)
    for entry, attribute in _JSON.items():
        if entry in entries:
            setattr(record, attribute, json.loads(archive.read(entry)))
    for entry, attribute in _TENSORS.items():
        if entry in entries:
            # Nothing but tensors and containers is loaded: a record is not trusted to run code.
            setattr(record, attribute, torch.load(io.BytesIO(archive.read(entry)), weights_only=True))
    names = sorted(entry for entry in entries if entry + _PARTS[0] in entries)
    edge = {name.removeprefix(_EDGE + "/"): name for name in names if name.startswith(_EDGE + "/")}
    if _EDGE in names:  # of an earlier ExecuTorch, which recorded one method
        edge["forward"] = _EDGE
    if _EXPORTED in names:
        record.exported_program = _program(archive, _EXPORTED)
    programs = {method: _program(archive, name) for method, name in edge.items()}
    if programs:
        record.edge_dialect_program = next(iter(programs.values())) if len(programs) == 1 else programs
    others = [name for name in names if name.split("/")[0] not in RESERVED]
    record.graph_map = {name: _program(archive, name) for name in others}
    return record


def _program(archive: ZipFile, name: str) -> ExportedProgram:
    try:
        return program_from_bytes(ProgramBytes(archive.read(name), *(archive.read(name + part) for part in _PARTS)))
    except (KeyError, ValueError) as error:
        raise RuntimeError(f"the record's program '{name}' cannot be read: {error}") from error
